"""What a Redis server has to be before records are trusted to it."""

from __future__ import annotations

import pytest

from gristmill.adapters.redis.core.fitness import judge_server
from gristmill.domain.upkeep.finding import Finding

FIT = {"redis_version": "7.0.15", "role": "master", "maxmemory_policy": "noeviction", "aof_enabled": "1"}


def judge(facts: dict[str, str], *, policy: str | None = "always", is_ephemeral: bool = False) -> list[Finding]:
    return judge_server({**FIT, **facts}, fsync_policy=policy, is_ephemeral=is_ephemeral)


def test_a_server_that_keeps_what_it_has_answered_is_ok_in_all() -> None:
    assert {finding.verdict for finding in judge({})} == {"ok"}
    assert {finding.advice for finding in judge({})} == {""}


@pytest.mark.parametrize(
    ("facts", "check"),
    [
        ({"redis_version": "6.2.14"}, "redis version"),
        ({"redis_version": "six"}, "redis version"),
        ({"cluster_enabled": "1"}, "redis role"),
        ({"role": "slave"}, "redis role"),
        ({"maxmemory_policy": "volatile-ttl"}, "redis maxmemory-policy"),
        ({"aof_enabled": "0"}, "redis appendonly"),
    ],
)
def test_what_loses_accepted_records_is_refused_first_of_all(facts: dict[str, str], check: str) -> None:
    worst = judge(facts)[0]
    assert (worst.check, worst.verdict) == (check, "refused")
    assert worst.advice


@pytest.mark.parametrize(
    ("policy", "found", "says"),
    [("everysec", "everysec", "second"), ("no", "no", "minute"), (None, "unknown", "does not tell")],
)
def test_a_file_that_is_not_synced_at_once_is_warned_about(policy: str | None, found: str, says: str) -> None:
    worst = judge({}, policy=policy)[0]
    assert (worst.check, worst.verdict, worst.found) == ("redis appendfsync", "warning", found)
    assert says in worst.advice


def test_a_server_without_a_file_is_only_warned_about_where_it_may_forget() -> None:
    worst = judge({"aof_enabled": "0"}, is_ephemeral=True)[0]
    assert (worst.check, worst.verdict) == ("redis appendonly", "warning")
