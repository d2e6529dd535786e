"""How far the group is behind with what is published, looked at once a second instead of for each call."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import structlog

from gristmill.api.reading.waits import read_lag
from gristmill.domain.errors import Unavailable
from gristmill.domain.log import Lag
from gristmill.plans.plan import Generator
from gristmill.ports.clock import Clock
from gristmill.ports.log import Log

__all__ = ["BacklogWatch"]

LOOK_MS = 1_000

_log = structlog.get_logger()


class BacklogWatch:
    """Says of a generator whether more may be published to it.

    Args:
        records_max: records that were published and not handed out yet.
        tell: is told each lag that was looked at.
    """

    def __init__(
        self,
        log: Log,
        generators: Sequence[Generator],
        clock: Clock,
        *,
        records_max: int,
        tell: Callable[[Generator, Lag], None] = lambda generator, lag: None,
    ) -> None:
        self._log = log
        self._generators = tuple(generators)
        self._clock = clock
        self._records_max = records_max
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
            _log.warning("backlog cannot be looked at", error=str(error))
            return
        self._full = frozenset([name for name, lag in lags.items() if lag.undelivered >= self._records_max])
        for generator in self._generators:
            self._tell(generator, lags[generator.type])
