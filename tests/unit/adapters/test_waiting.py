"""Who waits on a topic is woken by its bell, misses no ring, and is not woken twice by one."""

import asyncio

from gristmill.adapters.waiting import TopicBells
from gristmill.testing.clock import FakeClock

PATIENCE_S = 10


async def test_a_ring_wakes_those_who_wait_on_its_topic_alone() -> None:
    clock = FakeClock()
    bells = TopicBells(clock)
    one, two = (asyncio.ensure_future(bells.wait([topic], timeout_ms=1_000)) for topic in ("t", "other"))
    await clock.somebody_waits()
    bells.ring(["t"])
    async with asyncio.timeout(PATIENCE_S):
        await one
    assert not two.done()
    bells.ring_all()
    async with asyncio.timeout(PATIENCE_S):
        await two


async def test_a_ring_since_the_last_look_ends_the_wait_at_once_and_only_once() -> None:
    clock = FakeClock()
    bells = TopicBells(clock)
    bells.look("t")
    bells.ring(["t"])
    async with asyncio.timeout(PATIENCE_S):
        await bells.wait(["t"], timeout_ms=1_000)
    again = asyncio.ensure_future(bells.wait(["t"], timeout_ms=1_000))
    await clock.somebody_waits()
    assert not again.done()
    clock.advance(1_000)
    await again


async def test_a_ring_before_the_look_does_not_end_the_wait() -> None:
    clock = FakeClock()
    bells = TopicBells(clock)
    bells.ring(["t"])
    bells.look("t")
    waiting = asyncio.ensure_future(bells.wait(["t"], timeout_ms=50))
    await clock.somebody_waits()
    assert not waiting.done()
    clock.advance(50)
    await waiting


async def test_a_child_task_that_waits_sees_what_its_parent_looked_at() -> None:
    bells = TopicBells(FakeClock())
    bells.look("t")
    bells.ring(["t"])
    async with asyncio.timeout(PATIENCE_S):
        await asyncio.create_task(bells.wait(["t"], timeout_ms=1_000))
