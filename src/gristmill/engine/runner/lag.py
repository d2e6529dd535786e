"""Looks again and again how far groups are behind, whether anybody works for them or not."""

from __future__ import annotations

from collections.abc import Sequence

import structlog

from gristmill.engine.runner.metrics import LagMetrics
from gristmill.ports.clock import Clock
from gristmill.ports.log import Log

__all__ = ["LagPoll"]

_log = structlog.get_logger()


class LagPoll:
    """Sets the gauges of (topic, group) pairs: at once, then every `interval_ms`."""

    def __init__(
        self,
        log: Log,
        pairs: Sequence[tuple[str, str]],
        clock: Clock,
        metrics: LagMetrics,
        *,
        interval_ms: int = 10_000,
    ) -> None:
        self._log = log
        self._pairs = pairs
        self._clock = clock
        self._metrics = metrics
        self._interval_ms = interval_ms

    async def run(self) -> None:
        """Look for ever."""
        while True:
            await self.run_once()
            await self._clock.sleep_ms(self._interval_ms)

    async def run_once(self) -> None:
        """Look once; a group whose lag cannot be read keeps its figures and is shown as unread."""
        for topic, group in self._pairs:
            try:
                self._metrics.tell(topic, group, await self._log.lag(topic, group))
            except Exception as error:
                # The log is down, or says something odd: nobody who works on records may die of that.
                self._metrics.tell(topic, group, None)
                _log.warning("lag cannot be read", topic=topic, group=group, error=repr(error))
