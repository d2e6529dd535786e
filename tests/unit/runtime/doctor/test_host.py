"""What measured facts of a host mean."""

from __future__ import annotations

import pytest

from gristmill.domain.upkeep.finding import Finding
from gristmill.runtime.doctor.host_core import (
    judge_clock,
    judge_extra,
    judge_filesystem,
    judge_open_files,
    judge_skew,
    judge_space,
    judge_synchronous,
    judge_syncs,
    judge_version,
)

GIB = 1024**3

FINE = [
    judge_syncs("syncs", [900] * 48),
    judge_space(50 * GIB),
    judge_filesystem("ext4", is_network=False),
    judge_filesystem("", is_network=False),
    judge_open_files(1_024),
    judge_clock(drift_ms=-3, behind_ms=-500),
    judge_skew("redis", -40),
    judge_synchronous("FULL"),
    judge_version("python", (3, 11, 7), (3, 11)),
    judge_extra("redis", is_installed=True, needed_for="log.backend", must=True),
]

WARNED = [
    (judge_syncs("syncs", [1_000] * 20 + [2_500] * 28), "median 2.50 ms, p99 2.50 ms of 48 syncs"),
    (judge_space(GIB - 1), "1024.0 MiB"),
    (judge_filesystem("tmpfs", is_network=False), "tmpfs"),
    (judge_open_files(1_023), "1023"),
    (judge_clock(drift_ms=-4_000, behind_ms=0), "moved by -4000 ms"),
    (judge_clock(drift_ms=0, behind_ms=3_600_000), "3600000 ms behind"),
    (judge_skew("redis", 2_001), "+2001 ms"),
    (judge_skew("redis", -2_001), "-2001 ms"),
    (judge_synchronous("NORMAL"), "NORMAL"),
    (judge_extra("text", is_installed=False, needed_for="the flow screen", must=False), "missing"),
]

REFUSED = [
    (judge_space(1024 * 1024 - 1), "1024.0 KiB"),
    (judge_filesystem("nfs4", is_network=True), "nfs4"),
    (judge_open_files(255), "255"),
    (judge_version("sqlite", (3, 50, 9), (3, 51)), "3.50.9"),
    (judge_extra("kafka", is_installed=False, needed_for="log.backend is 'kafka'", must=True), "missing"),
]


@pytest.mark.parametrize("finding", FINE)
def test_what_is_fine_gives_no_advice(finding: Finding) -> None:
    assert (finding.verdict, finding.advice) == ("ok", "")


@pytest.mark.parametrize(("finding", "found"), WARNED)
def test_what_has_a_price_is_a_warning_with_the_value_and_the_next_step(finding: Finding, found: str) -> None:
    assert finding.verdict == "warning"
    assert found in finding.found
    assert finding.advice


@pytest.mark.parametrize(("finding", "found"), REFUSED)
def test_what_cannot_work_is_refused_with_the_value_and_the_next_step(finding: Finding, found: str) -> None:
    assert finding.verdict == "refused"
    assert found in finding.found
    assert finding.advice


def test_one_slow_sync_among_fast_ones_is_no_slow_disk() -> None:
    assert judge_syncs("syncs", [800] * 47 + [900_000]).verdict == "ok"


def test_a_huge_disk_is_shown_in_the_largest_unit() -> None:
    assert judge_space(5_000 * 1024 * GIB).found == "5000.0 TiB"
