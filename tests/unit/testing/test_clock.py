"""The fake clock moves when told, or when nobody has anything else to do."""

from __future__ import annotations

import asyncio

from gristmill.testing.clock import FakeClock


async def test_waits_end_in_the_order_of_their_ends() -> None:
    clock = FakeClock()
    ended: list[int] = []

    async def wait(duration_ms: int) -> None:
        await clock.sleep_ms(duration_ms)
        ended.append(duration_ms)

    tasks = [asyncio.create_task(wait(duration_ms)) for duration_ms in (30, 10, 20)]
    await clock.somebody_waits()
    clock.advance(20)
    await asyncio.gather(tasks[1], tasks[2])
    assert ended == [10, 20]
    clock.advance(10)
    await tasks[0]
    assert clock.monotonic_us() == 30_000


async def test_a_jumping_clock_jumps_only_when_all_wait() -> None:
    clock = FakeClock(is_jumping=True)
    steps: list[str] = []

    async def work() -> None:
        for _ in range(50):
            await asyncio.sleep(0)
        steps.append(f"worked at {clock.monotonic_us()}")

    async def wait() -> None:
        await clock.sleep_ms(3_600_000)
        steps.append("waited")

    await asyncio.gather(wait(), work())
    assert steps == ["worked at 0", "waited"]
    assert clock.monotonic_us() == 3_600_000_000


async def test_a_cancelled_wait_does_not_move_the_clock() -> None:
    clock = FakeClock()
    task = asyncio.create_task(clock.sleep_ms(10))
    await clock.somebody_waits()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    clock.advance(5)
    assert clock.monotonic_us() == 5_000
