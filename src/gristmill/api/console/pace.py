"""How quickly records come in and are done, generator by generator, measured between two looks at the log."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from gristmill.api.reading.waits import read_lag
from gristmill.domain.log import Lag
from gristmill.ports.clock import Clock
from gristmill.ports.log import Log

if TYPE_CHECKING:
    from gristmill.plans.plan import Generator

__all__ = ["Pace", "PaceWatch"]

WINDOW_US = 60_000_000
LOOK_US = 1_000_000
"""However many people watch, the log is asked once in this time."""


class Pace(msgspec.Struct, frozen=True):
    """How one generator does.

    Attributes:
        in_per_s, out_per_s: over the last minute or since the first look; None before there were two looks.
        moved_at_ms: when it was last seen that more is done, UTC epoch; None before that was seen.
    """

    lag: Lag
    in_per_s: float | None
    out_per_s: float | None
    moved_at_ms: int | None = None


class _Look(msgspec.Struct, frozen=True):
    at_us: int
    end: int
    lag: Lag

    @property
    def left(self) -> int:
        """Records that are done, given up ones too."""
        return self.end - self.lag.undelivered - self.lag.in_flight - self.lag.waiting


class PaceWatch:
    """Looks when it is asked, and remembers a minute."""

    def __init__(self, log: Log, generators: Mapping[str, Generator], clock: Clock) -> None:
        self._log = log
        self._generators = generators
        self._clock = clock
        self._looks: dict[str, deque[_Look]] = {name: deque() for name in generators}
        self._moved_at_ms: dict[str, int] = {}
        self._lock = asyncio.Lock()

    async def look(self) -> dict[str, Pace]:
        """Return how each generator does."""
        async with self._lock:
            now_us = self._clock.monotonic_us()
            for name, looks in self._looks.items():
                if not looks or now_us - looks[-1].at_us >= LOOK_US:
                    looks.append(await self._ask(self._generators[name], now_us))
                    if len(looks) > 1 and looks[-1].left > looks[-2].left:
                        self._moved_at_ms[name] = self._clock.now_ms()
                while len(looks) > 2 and looks[1].at_us <= now_us - WINDOW_US:
                    looks.popleft()
        return {name: _compute_pace(looks, self._moved_at_ms.get(name)) for name, looks in self._looks.items()}

    async def _ask(self, generator: Generator, now_us: int) -> _Look:
        return _Look(now_us, await self._log.end(generator.topic), await read_lag(self._log, generator))


def _compute_pace(looks: deque[_Look], moved_at_ms: int | None) -> Pace:
    first, last = looks[0], looks[-1]
    seconds = (last.at_us - first.at_us) / 1_000_000
    if not seconds:
        return Pace(last.lag, None, None, moved_at_ms)
    out_per_s = max(0, last.left - first.left) / seconds
    return Pace(last.lag, (last.end - first.end) / seconds, out_per_s, moved_at_ms)
