"""Ids come from memory; segments are fetched ahead, grow with use, and a dry buffer says so quickly."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from gristmill.adapters.memory import MemoryStore
from gristmill.domain.errors import IdUnavailable, Unavailable
from gristmill.domain.ids import ItemId, Segment, day_of
from gristmill.intake.ids import SegmentIds
from tests.dispatching import FakeClock

DAY_MS = 86_400_000


class Segments:
    """Counts up; down while `is_down`."""

    def __init__(self) -> None:
        self.taken: list[tuple[int, int]] = []
        self.is_down = False
        self._next: dict[int, int] = {}

    async def take_segment(self, namespace: str, *, day: int, step: int) -> Segment:
        if self.is_down:
            raise Unavailable("store is down")
        self.taken.append((day, step))
        start = self._next.get(day, 0)
        self._next[day] = start + step
        return Segment(day, start, start + step)


@asynccontextmanager
async def issuing(state: Any, clock: FakeClock) -> AsyncIterator[SegmentIds]:
    ids = SegmentIds(state, clock)
    loop = asyncio.ensure_future(ids.run())
    try:
        yield ids
    finally:
        loop.cancel()


async def test_ids_are_unique_and_carry_their_day() -> None:
    async with issuing(Segments(), FakeClock()) as ids:
        issued = [item_id for _ in range(50) for item_id in await ids.issue(100)]
    assert len(set(issued)) == 5_000
    assert {day_of(item_id) for item_id in issued} == {20_231_114}


async def test_the_next_segment_is_fetched_when_a_fifth_of_this_one_is_used() -> None:
    state, clock = Segments(), FakeClock()
    async with issuing(state, clock) as ids:
        await ids.issue(150)
        await clock.sleep_ms(1)
        assert len(state.taken) == 1
        await ids.issue(100)
        await clock.sleep_ms(1)
        assert len(state.taken) == 2
        state.is_down = True
        assert len(await ids.issue(1_750)) == 1_750


async def test_segments_grow_until_one_lasts_ten_minutes() -> None:
    state, clock = Segments(), FakeClock()
    async with issuing(state, clock) as ids:
        for _ in range(2_000):
            await ids.issue(1_000)
            await clock.sleep_ms(1_000)
    assert state.taken[-1][1] == 512_000
    assert len(state.taken) < 25


async def test_a_store_that_comes_back_is_noticed_within_two_seconds() -> None:
    state, clock = Segments(), FakeClock()
    state.is_down = True
    async with issuing(state, clock) as ids:
        await clock.sleep_ms(3_600_000)
        state.is_down = False
        await clock.sleep_ms(2_000)
        assert len(await ids.issue(1)) == 1


async def test_a_thousand_and_more_input_ids_are_asked_for_in_parts() -> None:
    clock = FakeClock()
    store = MemoryStore(clock)
    async with issuing(store.state, clock) as ids:
        names = [f"post-{number}" for number in range(2_500)]
        made = await ids.resolve_or_create("posts", names)
        assert len(set(made.values())) == 2_500
        assert await ids.resolve("posts", [*names, "stranger"]) == made
        assert await ids.resolve_or_create("posts", names[:10]) == {name: made[name] for name in names[:10]}


async def test_an_answer_is_remembered_and_a_miss_is_not() -> None:
    clock = FakeClock()
    store = MemoryStore(clock)
    async with issuing(store.state, clock) as ids:
        assert await ids.resolve("posts", ["a"], tenant="acme") == {}
        await store.state.map_ids("posts", {"a": ItemId(7)}, tenant="acme")
        assert await ids.resolve("posts", ["a"], tenant="acme") == {"a": ItemId(7)}
        store.state._ids.clear()
        assert await ids.resolve("posts", ["a", "b"], tenant="acme") == {"a": ItemId(7)}
        assert await ids.resolve("posts", ["a"]) == {}


async def test_a_dry_buffer_says_so_within_fifty_milliseconds() -> None:
    state, clock = Segments(), FakeClock()
    state.is_down = True
    async with issuing(state, clock) as ids:
        begun_at_ms = clock.now_ms()
        with pytest.raises(IdUnavailable):
            await ids.issue(1)
        assert clock.now_ms() - begun_at_ms <= 50
        state.is_down = False
        await clock.sleep_ms(2_000)
        assert len(await ids.issue(1)) == 1


async def test_a_new_day_begins_with_its_own_ids() -> None:
    state, clock = Segments(), FakeClock()
    async with issuing(state, clock) as ids:
        (first,) = await ids.issue(1)
        await clock.sleep_ms(DAY_MS)
        await ids.issue(1)
        await clock.sleep_ms(1)
        (later,) = await ids.issue(1)
    assert day_of(later) == day_of(first) + 1
