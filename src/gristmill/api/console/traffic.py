"""The traffic of the last day, whoever brought it: what is past is asked for once, the running interval anew.

Every topic counts, files that were run too, but those that hold failed records until their next attempt: what is in
them has been counted when it came in.
"""

from __future__ import annotations

import asyncio
from itertools import pairwise

import msgspec

from gristmill.domain.front.traffic import Interval
from gristmill.engine.settings import is_recovery_topic
from gristmill.ports.clock import Clock
from gristmill.ports.front import Front
from gristmill.ports.log import Log

__all__ = ["STEP_MS", "DayOfTraffic", "TrafficWatch"]

STEP_MS = 300_000
INTERVALS = 288
"""A day in steps of five minutes."""

SHOWN_MIN = 13
"""An hour, and the running interval."""

INTERVALS_PER_READ = 12
"""A few milliseconds of the reading thread, which others need too."""

MINUTE_MS = 60_000
LOOK_MS = 1_000
"""However many people watch, the running interval is asked for once in this time."""


class DayOfTraffic(msgspec.Struct, frozen=True):
    """One day, oldest first.

    Attributes:
        intervals: those that are over, and the running one as far as it has come.
        running_ms: how long the last of them has lasted.
    """

    intervals: list[Interval]
    running_ms: int

    @property
    def series(self) -> list[list[float | None]]:
        """Times, records that came in and runs that ended, the latter two per minute; None where nobody can tell.

        It begins where something happens, or SHOWN_MIN intervals ago: a young store shows more than a needle.
        """
        latest = len(self.intervals) - SHOWN_MIN
        busy = [index for index, one in enumerate(self.intervals) if one.appended or one.ended]
        shown = self.intervals[max(0, min([latest, *(index - 1 for index in busy[:1])])) :]
        return [
            [one.at_ms for one in shown],
            self._per_minute([one.appended for one in shown]),
            self._per_minute([one.ended for one in shown]),
        ]

    @property
    def appended(self) -> int:
        return sum(one.appended or 0 for one in self.intervals)

    @property
    def ended(self) -> int:
        return sum(one.ended or 0 for one in self.intervals)

    def _per_minute(self, counts: list[int | None]) -> list[float | None]:
        # In its first minute an interval would show any trickle as a flood.
        running = max(1.0, self.running_ms / MINUTE_MS)
        minutes = [STEP_MS / MINUTE_MS] * (len(counts) - 1) + [running]
        return [
            None if count is None else round(count / lasted, 1) for count, lasted in zip(counts, minutes, strict=True)
        ]


class TrafficWatch:
    """Remembers what it was told of intervals that are over."""

    def __init__(self, front: Front, log: Log, clock: Clock) -> None:
        self._front = front
        self._log = log
        self._clock = clock
        self._known: dict[int, Interval] = {}
        self._running: Interval | None = None
        self._looked_at_ms = 0
        self._lock = asyncio.Lock()

    async def read(self) -> DayOfTraffic:
        """Return the last day."""
        now_ms = self._clock.now_ms()
        until_ms = now_ms // STEP_MS * STEP_MS
        starts = range(until_ms - INTERVALS * STEP_MS, until_ms, STEP_MS)
        async with self._lock:
            self._known = {at_ms: one for at_ms, one in self._known.items() if at_ms >= starts[0]}
            missing = [at_ms for at_ms in starts if at_ms not in self._known]
            if missing:
                await self._fetch(missing[0], until_ms)
            running = await self._look(until_ms, now_ms)
            return DayOfTraffic([*(self._known[at_ms] for at_ms in starts), running], now_ms - until_ms)

    async def _fetch(self, since_ms: int, until_ms: int) -> None:
        without = await self._find_recovery_topics()
        bounds = [*range(since_ms, until_ms, STEP_MS * INTERVALS_PER_READ), until_ms]
        for start_ms, end_ms in pairwise(bounds):
            limit = (end_ms - start_ms) // STEP_MS
            counted = await self._front.traffic.count(since_ms=start_ms, step_ms=STEP_MS, limit=limit, without=without)
            self._known |= {one.at_ms: one for one in counted}

    async def _look(self, since_ms: int, now_ms: int) -> Interval:
        """Return the running interval."""
        running = self._running
        if running is None or running.at_ms != since_ms or now_ms - self._looked_at_ms >= LOOK_MS:
            without = await self._find_recovery_topics()
            [running] = await self._front.traffic.count(since_ms=since_ms, step_ms=STEP_MS, limit=1, without=without)
            self._running, self._looked_at_ms = running, now_ms
        return running

    async def _find_recovery_topics(self) -> list[str]:
        return [topic for topic in await self._log.topics() if is_recovery_topic(topic)]
