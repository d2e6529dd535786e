"""A clock that tests own: it moves when it is told to, or jumps as soon as everything waits for it."""

from __future__ import annotations

import asyncio
import heapq
from itertools import count

__all__ = ["FakeClock"]

START_MS = 1_700_000_000_000
"""Some day in 2023; a wall time that looks like one."""


class FakeClock:
    """See `ports.clock.Clock`. Use it from one event loop.

    With `is_jumping` the clock moves to the end of the earliest wait whenever the loop has nothing else to do. Work
    in other threads is not seen: over a store with threads of its own, move the clock by hand.
    """

    def __init__(self, *, start_ms: int = START_MS, is_jumping: bool = False) -> None:
        self._start_us = start_ms * 1_000
        self._now_us = self._start_us
        self._set_us = 0
        self._is_jumping = is_jumping
        self._is_looking = False
        self._waits: list[tuple[int, int, asyncio.Future[None]]] = []
        self._numbers = count()
        self._has_waits = asyncio.Event()

    def now_ms(self) -> int:
        """Return UTC epoch milliseconds."""
        return (self._now_us + self._set_us) // 1_000

    def monotonic_us(self) -> int:
        """Return microseconds since this clock was made."""
        return self._now_us - self._start_us

    def monotonic_ns(self) -> int:
        """Return nanoseconds since this clock was made, whole microseconds of them."""
        return self.monotonic_us() * 1_000

    def thread_us(self) -> int:
        """Return microseconds since this clock was made: whoever moves it by hand is taken to have worked."""
        return self.monotonic_us()

    async def sleep_ms(self, duration_ms: int) -> None:
        """Wait until the clock has moved by `duration_ms`."""
        loop = asyncio.get_running_loop()
        done = loop.create_future()
        heapq.heappush(self._waits, (self._now_us + duration_ms * 1_000, next(self._numbers), done))
        self._has_waits.set()
        self._look_soon(loop)
        await done

    def advance(self, duration_ms: int) -> None:
        """Move the clock and end every wait that is over, in the order of their ends."""
        target_us = self._now_us + duration_ms * 1_000
        while self._waits and self._waits[0][0] <= target_us:
            self._end_earliest()
        self._now_us = target_us

    def set_wall(self, change_ms: int) -> None:
        """Put the wall time forward or back, as an administrator does; no wait ends by that."""
        self._set_us += change_ms * 1_000

    async def somebody_waits(self) -> None:
        """Return once a task waits for this clock."""
        await self._has_waits.wait()

    def _end_earliest(self) -> None:
        end_us, _, done = heapq.heappop(self._waits)
        if not self._waits:
            self._has_waits.clear()
        if not done.done():
            self._now_us = max(self._now_us, end_us)
            done.set_result(None)

    def _look_soon(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._is_jumping and not self._is_looking:
            self._is_looking = True
            loop.call_soon(self._look, loop)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        self._is_looking = False
        # Private, but the only way to see that nothing else is ready; asyncio's own loop has it, uvloop has not.
        if not loop._ready:  # type: ignore[attr-defined]
            self._end_earliest()
        if self._waits:
            self._look_soon(loop)
