"""The only place that reads the system's time or draws at random; everything else takes a Clock or a Random."""

from __future__ import annotations

import asyncio
import random
import time

__all__ = ["SeededRandom", "SystemClock", "SystemRandom"]

NS_PER_MS = 1_000_000
NS_PER_US = 1_000


class SystemClock:
    """Wall and monotonic time of this host.

    `now_ms` follows the wall clock forwards. When the wall clock is set back, it goes on with monotonic time from
    where it was, so leases and delays still come to their end.
    """

    def __init__(self) -> None:
        self._wall_ms = time.time_ns() // NS_PER_MS
        self._since_ns = time.monotonic_ns()

    def now_ms(self) -> int:
        """Return UTC epoch milliseconds; never less than an earlier answer of this clock."""
        wall_ms = time.time_ns() // NS_PER_MS
        steady_ms = self._wall_ms + (time.monotonic_ns() - self._since_ns) // NS_PER_MS
        if wall_ms <= steady_ms:
            return steady_ms
        self._wall_ms, self._since_ns = wall_ms, time.monotonic_ns()
        return wall_ms

    def monotonic_us(self) -> int:
        """Return microseconds since an arbitrary origin; only goes forward."""
        return time.monotonic_ns() // NS_PER_US

    monotonic_ns = staticmethod(time.monotonic_ns)
    """The same in nanoseconds: the system's own call, without a step of ours between."""

    def thread_us(self) -> int:
        """Return microseconds of CPU time of the calling thread."""
        return time.thread_time_ns() // NS_PER_US

    async def sleep_ms(self, duration_ms: int) -> None:
        """Wait `duration_ms` of real time."""
        await asyncio.sleep(duration_ms / 1000)


class SystemRandom:
    """Draws of the operating system; cannot be replayed."""

    def __init__(self) -> None:
        self._source = random.SystemRandom()

    def uniform(self) -> float:
        """Return a float in [0, 1)."""
        return self._source.random()


class SeededRandom:
    """Draws that follow from a seed alone."""

    def __init__(self, seed: int) -> None:
        self._source = random.Random(seed)

    def uniform(self) -> float:
        """Return a float in [0, 1)."""
        return self._source.random()
