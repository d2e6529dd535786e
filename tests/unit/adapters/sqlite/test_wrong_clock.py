"""A clock that is wrong for a while costs next to nothing: ages follow it at a bounded speed, across restarts too."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gristmill.adapters.sqlite import SqliteStore
from gristmill.domain.ids import IDS_PER_DAY, ItemId
from gristmill.domain.log import Diagnosis
from gristmill.domain.upkeep.retention import RetentionRules
from gristmill.testing.clock import FakeClock
from gristmill.testing.contracts.backend import claim, make_commit, records

DAY_MS = 86_400_000
NOW_MS = 1_796_000_000_000
TEN_YEARS_MS = 3_650 * DAY_MS
RULES = RetentionRules(
    inputs_ms=30 * DAY_MS,
    letters_ms=30 * DAY_MS,
    events_ms=30 * DAY_MS,
    runs_ms=30 * DAY_MS,
    quarantine_ms=30 * DAY_MS,
    items_ms=60 * DAY_MS,
)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(start_ms=NOW_MS, is_jumping=True)


@pytest.fixture
async def store(tmp_path: Path, clock: FakeClock) -> AsyncIterator[SqliteStore]:
    opened = open_store(tmp_path, clock)
    yield opened
    await opened.close()


def open_store(folder: Path, clock: FakeClock, *, owner: str = "me") -> SqliteStore:
    return SqliteStore.open(folder / "store.sqlite", clock=clock, owner=owner, synchronous="NORMAL")


async def fill(store: SqliteStore, clock: FakeClock) -> None:
    """Store an item with two runs, a closed letter and a worked off input, all of this moment."""
    item_id = ItemId(20261129 * IDS_PER_DAY + 1)
    await store.state.commit(
        [make_commit(item_id, position=9_000 + number, ended_at_ms=clock.now_ms(), events=()) for number in range(2)]
    )
    await store.log.append("run.input", records("a"))
    [delivery] = await claim(store.log, topic="run.input")
    await store.log.reject(delivery.lease, Diagnosis("E", "broken"))
    assert await store.log.drop((await store.log.dead_letters())[0].dead_letter_id)


async def sweep(store: SqliteStore, clock: FakeClock, *, is_clock_right: bool = False) -> dict[str, int]:
    return dict(await store.upkeep.sweep(RULES, now_ms=clock.now_ms(), is_clock_right=is_clock_right))


async def test_a_clock_ten_years_ahead_takes_nothing_with_it(
    store: SqliteStore, clock: FakeClock, tmp_path: Path
) -> None:
    assert await sweep(store, clock) == {}
    await fill(store, clock)
    clock.set_wall(TEN_YEARS_MS)
    for _ in range(10):
        clock.advance(30_000)
        assert await sweep(store, clock) == {}
    again = open_store(tmp_path, clock, owner="again")
    assert await sweep(again, clock) == {}, "a restart knows how far the store has come"
    assert again.upkeep.as_of_ms is not None
    assert again.upkeep.as_of_ms < NOW_MS + 2 * DAY_MS
    await again.close()
    clock.set_wall(-TEN_YEARS_MS)
    clock.advance(30_000)
    await sweep(store, clock)
    assert (await store.state.counts())["items"] == 1
    assert store.upkeep.as_of_ms is not None
    assert clock.now_ms() - store.upkeep.as_of_ms < 1_000


async def test_a_group_that_stood_still_for_months_catches_up(store: SqliteStore, clock: FakeClock) -> None:
    await sweep(store, clock)
    await fill(store, clock)
    clock.set_wall(200 * DAY_MS)
    for _ in range(24 * 9):
        clock.advance(3_600_000)
        if "dead" in await sweep(store, clock):
            break
    assert store.upkeep.as_of_ms is not None
    assert 30 * DAY_MS <= store.upkeep.as_of_ms - NOW_MS <= 31 * DAY_MS


async def test_a_person_may_say_that_the_clock_is_right(store: SqliteStore, clock: FakeClock) -> None:
    await sweep(store, clock)
    await fill(store, clock)
    clock.set_wall(200 * DAY_MS)
    deleted = await sweep(store, clock, is_clock_right=True)
    assert {"dead", "log", "item"} <= deleted.keys()
    assert "aged_ms" not in await store.state.counts()


async def test_traffic_is_told_rightly_again_once_the_clock_is_right(store: SqliteStore, clock: FakeClock) -> None:
    await store.log.append("t", records("a", "b"))
    await sweep(store, clock)
    clock.set_wall(TEN_YEARS_MS)
    clock.advance(300_000)
    await sweep(store, clock)
    clock.set_wall(-TEN_YEARS_MS)
    await sweep(store, clock)
    began_ms = clock.now_ms()
    await store.log.append("t", records("c", "d", "e"))
    await store.log.accept([delivery.lease for delivery in await claim(store.log, topic="t")])
    clock.advance(300_000)
    await sweep(store, clock)
    [counted] = await store.front.traffic.count(since_ms=began_ms, step_ms=310_000, limit=1)
    assert counted.appended == 3
