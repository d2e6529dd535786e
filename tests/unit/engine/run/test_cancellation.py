"""A cancelled drive leaves nothing running and starts nothing more."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from gristmill import Item, task
from tests.driving import JumpingClock, drive


async def test_a_cancelled_drive_cancels_and_awaits_all_that_runs_for_it() -> None:
    log: list[str] = []

    async def hang(name: str) -> None:
        try:
            log.append(f"{name} runs")
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            log.append(f"{name} over")

    @task
    async def one(item: Item) -> None:
        await hang("one")

    @task
    async def two(item: Item) -> None:
        await hang("two")

    driving = asyncio.create_task(drive(one, two))
    await until(lambda: len(log) == 2)
    driving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await driving
    assert sorted(log) == ["one over", "one runs", "two over", "two runs"]


@pytest.mark.parametrize("turned_into", [None, OSError("connection lost")])
async def test_a_task_that_swallows_its_cancellation_starts_nothing_more(turned_into: Exception | None) -> None:
    log: list[str] = []

    @task(attempts=9)
    async def stubborn(item: Item) -> None:
        try:
            log.append("runs")
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            log.append("swallowed")
            if turned_into is not None:
                raise turned_into from None

    @task
    async def after(item: Item) -> None:
        log.append("after")

    driving = asyncio.create_task(drive(stubborn, after.use(after=[stubborn])))
    await until(lambda: bool(log))
    driving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await driving
    assert log == ["runs", "swallowed"]


async def test_a_drive_cancelled_during_a_wait_leaves_nothing_behind() -> None:
    class StandingClock(JumpingClock):
        async def sleep_ms(self, duration_ms: int) -> None:
            self.waits_ms.append(duration_ms)
            await asyncio.Event().wait()

    clock = StandingClock()

    @task
    async def busy(item: Item) -> None:
        raise OSError("busy")

    driving = asyncio.create_task(drive(busy, clock=clock))
    await until(lambda: bool(clock.waits_ms))
    driving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await driving
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def until(is_reached: Callable[[], bool]) -> None:
    """Let the others go on until they are where the test wants them."""
    for _ in range(100):
        if is_reached():
            return
        await asyncio.sleep(0)
    raise AssertionError("not reached in a hundred turns of the loop")
