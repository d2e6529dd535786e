"""Lossy topics and abandoned groups: what goes unread is counted, to each group that was not done with it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from gristmill.adapters.sqlite import SqliteStore
from gristmill.adapters.sqlite.upkeep.sweeps.lossy import LossySweep
from gristmill.domain.log import Diagnosis, NewRecord
from gristmill.domain.upkeep.retention import RetentionRules
from gristmill.domain.upkeep.topics import LossyRule
from gristmill.testing.clock import FakeClock
from gristmill.testing.contracts.backend import claim, records, values

DAY_MS = 86_400_000


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(is_jumping=True)


@pytest.fixture
async def store(tmp_path: Path, clock: FakeClock) -> AsyncIterator[SqliteStore]:
    opened = SqliteStore.open(tmp_path / "store.sqlite", clock=clock, owner="me", synchronous="NORMAL")
    yield opened
    await opened.close()


async def sweep(store: SqliteStore, clock: FakeClock, **rules: Any) -> int:
    """Return how many records went; the clock jumps over the pauses."""
    deleted = await store.upkeep.sweep(RetentionRules(**rules), now_ms=clock.now_ms(), is_clock_right=True)
    return deleted.get("log", 0)


def keeping(**bounds: int) -> dict[str, Any]:
    return {"lossy": {"t": LossyRule(**bounds)}}


async def lag_of(store: SqliteStore, group: str = "g") -> tuple[int, int, int]:
    lag = await store.log.lag("t", group)
    return lag.undelivered, lag.in_flight + lag.waiting, lag.lost


async def test_a_lossy_topic_keeps_what_it_may_and_counts_the_rest_to_each_group(
    store: SqliteStore, clock: FakeClock
) -> None:
    await claim(store.log, group="never")
    await store.log.append("t", [NewRecord(b"x")] * 3_000)
    done = await claim(store.log, group="ahead", limit=2_500)
    await store.log.accept([one.lease for one in done])
    await claim(store.log, group="behind", limit=1)
    await store.log.release([one.lease for one in await claim(store.log, group="behind", limit=1)])
    assert await sweep(store, clock, **keeping(max_entries=200)) == 2_800
    assert await lag_of(store, "ahead") == (199, 0, 301)
    assert await lag_of(store, "behind") == (199, 1, 2_800), "one is worked on and stays"
    assert await lag_of(store, "new") == (200, 0, 0), "a new group starts at the oldest that is kept"
    assert await sweep(store, clock, **keeping(max_entries=200)) == 0
    assert len(await claim(store.log, group="ahead", limit=1_000)) == 199
    await store.log.append("t", records("y"))
    assert (await store.log.lag("t", "behind")).undelivered == 200


async def test_records_that_are_too_old_go_whoever_wants_them(store: SqliteStore, clock: FakeClock) -> None:
    await store.log.append("t", records("a", "b"))
    await claim(store.log, limit=1, lease_ms=1_000)
    await store.log.append("t", [NewRecord(b"later", due_at_ms=clock.now_ms() + 10 * DAY_MS)])
    clock.advance(DAY_MS)
    await store.log.append("t", records("c"))
    assert await sweep(store, clock, **keeping(max_age_ms=DAY_MS // 2)) == 3
    assert await lag_of(store) == (1, 0, 3)
    assert values(await claim(store.log)) == ["c"]
    assert (await lag_of(store))[2] == 3


async def test_the_record_of_a_dead_letter_stays_in_a_lossy_topic(store: SqliteStore, clock: FakeClock) -> None:
    await store.log.append("t", records("a", "b"))
    [delivery] = await claim(store.log, limit=1)
    await store.log.reject(delivery.lease, Diagnosis("E", "text"))
    assert await sweep(store, clock, **keeping(max_entries=1)) == 1
    [letter] = await store.log.dead_letters()
    assert letter.value == b"a"


async def test_topics_that_are_not_lossy_lose_nothing(store: SqliteStore, clock: FakeClock) -> None:
    await store.log.append("t", records(*"abc"))
    await claim(store.log, limit=1)
    clock.advance(365 * DAY_MS)
    assert await sweep(store, clock) == 0
    assert (await lag_of(store))[2] == 0


async def test_a_group_that_nobody_serves_is_let_go_after_its_time_and_keeps_count(
    store: SqliteStore, clock: FakeClock
) -> None:
    rules: dict[str, Any] = {"groups": {"t": ("live",)}, "abandoned_ms": 7 * DAY_MS}
    await store.log.append("t", records(*"abc"))
    await store.log.release([one.lease for one in await claim(store.log, group="old", limit=1)])
    await store.log.accept([one.lease for one in await claim(store.log, group="live")])
    assert await sweep(store, clock, **rules) == 0
    clock.advance(6 * DAY_MS)
    assert await sweep(store, clock, **rules) == 0
    [standing] = await store.upkeep.standing(RetentionRules(**rules), now_ms=clock.now_ms())
    assert (standing.group, standing.is_let_go) == ("old", False)
    clock.advance(DAY_MS)
    assert await sweep(store, clock, **rules) == 3
    assert await lag_of(store, "old") == (0, 0, 3)
    await store.log.append("t", records("d"))
    assert values(await claim(store.log, group="old")) == ["d"], "it goes on where there is something"


async def test_a_group_that_moves_or_that_is_served_here_is_never_let_go(store: SqliteStore, clock: FakeClock) -> None:
    rules: dict[str, Any] = {"groups": {"t": ("live", "paused")}, "abandoned_ms": 7 * DAY_MS}
    await store.log.append("t", records(*"abcdef"))
    await store.log.accept([one.lease for one in await claim(store.log, group="live")])
    await claim(store.log, group="paused", limit=1, lease_ms=1)
    for _ in range(4):
        clock.advance(4 * DAY_MS)
        await store.log.accept([one.lease for one in await claim(store.log, group="slow", limit=1)])
        await sweep(store, clock, **rules)
    assert await lag_of(store, "slow") == (2, 0, 0)
    assert (await lag_of(store, "paused"))[2] == 0


async def test_a_group_that_stops_after_it_has_moved_is_let_go_from_then_on(
    store: SqliteStore, clock: FakeClock
) -> None:
    rules: dict[str, Any] = {"groups": {"t": ("live",)}, "abandoned_ms": 7 * DAY_MS}
    await store.log.append("t", records(*"abc"))
    await store.log.accept([one.lease for one in await claim(store.log, group="live")])
    for limit in (1, 1):
        await store.log.accept([one.lease for one in await claim(store.log, group="old", limit=limit)])
        await sweep(store, clock, **rules)
        clock.advance(5 * DAY_MS)
    assert (await lag_of(store, "old"))[2] == 0
    clock.advance(3 * DAY_MS)
    await sweep(store, clock, **rules)
    assert await lag_of(store, "old") == (0, 0, 1)


async def test_a_record_that_somebody_begins_with_meanwhile_stays(
    store: SqliteStore, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store.log.append("t", records(*"abc"))
    loop = asyncio.get_running_loop()

    def claim_meanwhile(*_: object) -> None:
        asyncio.run_coroutine_threadsafe(claim(store.log, limit=1), loop).result(timeout=30)

    monkeypatch.setattr(LossySweep, "prepare", claim_meanwhile)
    assert await sweep(store, clock, **keeping(max_entries=2)) == 0
    assert (await lag_of(store))[2] == 0


async def test_the_only_group_of_a_topic_is_never_let_go(store: SqliteStore, clock: FakeClock) -> None:
    await store.log.append("t", records("a", "b"))
    await store.log.accept([one.lease for one in await claim(store.log, group="old", limit=1)])
    for _ in range(2):
        await sweep(store, clock, abandoned_ms=7 * DAY_MS)
        clock.advance(30 * DAY_MS)
    assert await lag_of(store, "old") == (1, 0, 0)


async def test_held_topics_tell_their_bytes(store: SqliteStore, clock: FakeClock) -> None:
    await store.log.append("t", [NewRecord(b"x" * 1_000)] * 20)
    [held] = await store.upkeep.held(RetentionRules())
    assert held.bytes == 20_000
