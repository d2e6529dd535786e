"""Collections at moments of our own choice."""

import asyncio

from gristmill.adapters.clock import SeededRandom
from gristmill.runtime.garbage import collect_periodically, settle_heap


class ListedClock:
    """Notes every pause and ends the third."""

    def __init__(self) -> None:
        self.pauses_ms: list[int] = []

    def now_ms(self) -> int:
        return 0

    def monotonic_us(self) -> int:
        return 0

    def monotonic_ns(self) -> int:
        return self.monotonic_us() * 1_000

    def thread_us(self) -> int:
        return self.monotonic_us()

    async def sleep_ms(self, duration_ms: int) -> None:
        self.pauses_ms.append(duration_ms)
        if len(self.pauses_ms) == 3:
            raise asyncio.CancelledError


async def test_the_jitter_is_drawn_once() -> None:
    clock = ListedClock()
    task = asyncio.create_task(collect_periodically(clock, SeededRandom(1), interval_s=28_800, jitter_s=900))
    await asyncio.wait([task])
    assert len(set(clock.pauses_ms)) == 1
    assert 28_800_000 <= clock.pauses_ms[0] < 29_700_000


async def test_no_interval_means_none_of_our_own() -> None:
    clock = ListedClock()
    await collect_periodically(clock, SeededRandom(1), interval_s=0, jitter_s=0)
    assert clock.pauses_ms == []
    settle_heap()
