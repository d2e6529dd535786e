"""How far the group is behind with what is published, looked at once a second instead of for each call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import structlog

from gristmill.api.reading.waits import read_lag
from gristmill.domain.errors import Unavailable
from gristmill.domain.log import Lag
from gristmill.plans.plan import Generator
from gristmill.ports.clock import Clock
from gristmill.ports.log import Log

__all__ = ["BacklogWatch", "Unsent"]

Unsent = Callable[[], Awaitable[int]]
"""Returns how many publications are not in the log yet, of whatever topic."""

LOOK_MS = 1_000

_log = structlog.get_logger()


class BacklogWatch:
    """Says of a generator whether more may be published to it.

    Args:
        records_max: records that were published and not handed out yet.
        unsent: None where what is published is in the log at once.
        tell: is told each lag that was looked at.
    """

    def __init__(
        self,
        log: Log,
        generators: Sequence[Generator],
        clock: Clock,
        *,
        records_max: int,
        unsent: Unsent | None = None,
        tell: Callable[[Generator, Lag], None] = lambda generator, lag: None,
    ) -> None:
        self._log = log
        self._generators = tuple(generators)
        self._clock = clock
        self._records_max = records_max
        self._unsent = unsent
        self._lags: dict[str, Lag] = {}
        self._tell = tell
        self._full: frozenset[str] = frozenset()

    def is_full(self, generator: str) -> bool:
        """Whether a generator is as far behind as it may be."""
        return generator in self._full

    async def run(self) -> None:
        """Look for ever."""
        while True:
            await self.look()
            await self._clock.sleep_ms(LOOK_MS)

    async def look(self) -> None:
        """Look once."""
        try:
            lags = {one.type: await read_lag(self._log, one) for one in self._generators}
        except Unavailable as error:
            # What is published meanwhile goes on to wait, on top of what waited before.
            _log.warning("backlog cannot be looked at", error=str(error))
        else:
            self._lags = lags
            for generator in self._generators:
                self._tell(generator, lags[generator.type])
        unsent = await self._count_unsent()
        waiting = {one.type: unsent for one in self._generators}
        for name, lag in self._lags.items():
            waiting[name] += lag.undelivered
        self._full = frozenset([name for name, count in waiting.items() if count >= self._records_max])

    async def _count_unsent(self) -> int:
        try:
            return await self._unsent() if self._unsent is not None else 0
        except Unavailable as error:
            _log.warning("outbox cannot be looked at", error=str(error))
            return 0
