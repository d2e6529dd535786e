"""A group whose log is on Redis is killed, frozen past its leases and cut off; every record is done once, no more."""

from __future__ import annotations

from pathlib import Path

import pytest

from gristmill.testing.crash.cycles import run_cuts, run_cycles
from tests.redis_servers import program_or_skip

HEALED_WITHIN_S = 30.0
"""Five seconds on a machine that has time for it."""

SEED = 20_261_133
"""Draws every kind of death, cuts, and the death of the server."""

pytestmark = [pytest.mark.cluster, pytest.mark.crash, pytest.mark.timeout(300)]


def test_P1_faults_on_redis_lose_and_double_nothing(tmp_path: Path) -> None:
    outcome = run_cycles(tmp_path, log="redis", cycles=10, records=1_000, seed=SEED, program=program_or_skip("redis"))
    assert outcome.records == 1_000
    assert outcome.redelivered > 0
    assert not outcome.faults, f"after {outcome.hurts}"


def test_cut_connections_to_redis_heal_and_probes_tell_the_truth(tmp_path: Path) -> None:
    outcome = run_cuts(tmp_path, log="redis", cuts=3, outages=1, seed=SEED, program=program_or_skip("redis"))
    assert not outcome.faults
    assert outcome.cuts == 3
    assert outcome.slowest_s < HEALED_WITHIN_S
