"""One time-out for many runs: what takes too long ends, what was cancelled from outside stays cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from gristmill.engine.work.deadline import Deadlines
from tests.dispatching import FakeClock


@asynccontextmanager
async def guarding(clock: FakeClock, *, timeout_ms: int = 1_000) -> AsyncIterator[Deadlines]:
    deadlines = Deadlines(clock, timeout_ms=timeout_ms)
    loop = asyncio.ensure_future(deadlines.run())
    try:
        yield deadlines
    finally:
        loop.cancel()


async def test_what_is_quick_enough_returns_its_result() -> None:
    clock = FakeClock()

    async def work() -> int:
        await clock.sleep_ms(900)
        return 7

    async with guarding(clock) as deadlines:
        assert await deadlines.guard(work()) == 7


async def test_each_run_has_its_own_deadline() -> None:
    clock = FakeClock()
    ends_ms: list[int] = []

    async def guarded(deadlines: Deadlines, start_ms: int, duration_ms: int) -> None:
        await clock.sleep_ms(start_ms)
        begun_ms = clock.now_ms()
        try:
            await deadlines.guard(clock.sleep_ms(duration_ms))
        except TimeoutError:
            ends_ms.append(clock.now_ms() - begun_ms)

    async with guarding(clock) as deadlines:
        await asyncio.gather(guarded(deadlines, 1, 5_000), guarded(deadlines, 2, 10), guarded(deadlines, 500, 5_000))
    assert ends_ms == [1_000, 1_000]


async def test_a_cancellation_from_outside_is_no_time_out() -> None:
    clock = FakeClock()
    async with guarding(clock) as deadlines:
        task = asyncio.ensure_future(deadlines.guard(clock.sleep_ms(10_000)))
        await clock.sleep_ms(10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_a_cancellation_beside_the_time_out_goes_on_as_one() -> None:
    clock = FakeClock()
    async with guarding(clock) as deadlines:
        task = asyncio.ensure_future(deadlines.guard(clock.sleep_ms(10_000)))
        await clock.sleep_ms(10)
        deadlines._guarded[0].expire()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
