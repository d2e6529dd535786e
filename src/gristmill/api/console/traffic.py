"""The traffic of the last day, asked for once: what is past does not change."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import msgspec

from gristmill.domain.front.traffic import Interval
from gristmill.ports.clock import Clock
from gristmill.ports.front import Front

__all__ = ["STEP_MS", "DayOfTraffic", "TrafficWatch"]

STEP_MS = 300_000
INTERVALS = 288
"""A day in steps of five minutes."""

INTERVALS_PER_READ = 12
"""A few milliseconds of the reading thread, which others need too."""

MINUTES = STEP_MS / 60_000


class DayOfTraffic(msgspec.Struct, frozen=True):
    """One day, oldest first; the running interval is not among it."""

    intervals: list[Interval]

    @property
    def series(self) -> list[list[float | None]]:
        """Times, records that came in and runs that ended, the latter two per minute; None where nobody can tell."""
        return [
            [one.at_ms for one in self.intervals],
            [_per_minute(one.appended) for one in self.intervals],
            [_per_minute(one.ended) for one in self.intervals],
        ]

    @property
    def appended(self) -> int:
        return sum(one.appended or 0 for one in self.intervals)

    @property
    def ended(self) -> int:
        return sum(one.ended or 0 for one in self.intervals)


class TrafficWatch:
    """Remembers what it was told of intervals that are over."""

    def __init__(self, front: Front, clock: Clock) -> None:
        self._front = front
        self._clock = clock
        self._known: dict[int, Interval] = {}
        self._lock = asyncio.Lock()

    async def read(self) -> DayOfTraffic:
        """Return the last day."""
        until_ms = self._clock.now_ms() // STEP_MS * STEP_MS
        starts = range(until_ms - INTERVALS * STEP_MS, until_ms, STEP_MS)
        async with self._lock:
            self._known = {at_ms: one for at_ms, one in self._known.items() if at_ms >= starts[0]}
            missing = [at_ms for at_ms in starts if at_ms not in self._known]
            if missing:
                await self._fetch(missing[0], until_ms)
            return DayOfTraffic([self._known[at_ms] for at_ms in starts])

    async def _fetch(self, since_ms: int, until_ms: int) -> None:
        bounds = [*range(since_ms, until_ms, STEP_MS * INTERVALS_PER_READ), until_ms]
        for start_ms, end_ms in pairwise(bounds):
            limit = (end_ms - start_ms) // STEP_MS
            for one in await self._front.traffic.count(since_ms=start_ms, step_ms=STEP_MS, limit=limit):
                self._known[one.at_ms] = one


def _per_minute(count: int | None) -> float | None:
    return None if count is None else round(count / MINUTES, 1)
