"""Looks again and again how far groups are behind, whether anybody works for them or not."""

from __future__ import annotations

from collections.abc import Sequence

import structlog

from gristmill.engine.runner.metrics import RunnerMetrics
from gristmill.ports.clock import Clock
from gristmill.ports.log import Log

__all__ = ["LagPoll"]

MS_PER_S = 1_000

_log = structlog.get_logger()


class LagPoll:
    """Sets the gauges of (topic, group) pairs: at once, then every `interval_ms`."""

    def __init__(
        self,
        log: Log,
        pairs: Sequence[tuple[str, str]],
        clock: Clock,
        metrics: RunnerMetrics,
        *,
        interval_ms: int = 10_000,
    ) -> None:
        self._log = log
        self._pairs = pairs
        self._clock = clock
        self._metrics = metrics
        self._interval_ms = interval_ms
        self._lost: dict[tuple[str, str], int] = {}

    async def run(self) -> None:
        """Look for ever."""
        while True:
            await self.run_once()
            await self._clock.sleep_ms(self._interval_ms)

    async def run_once(self) -> None:
        """Look once; a group whose lag cannot be read keeps its figures and is shown as unread."""
        for topic, group in self._pairs:
            try:
                await self._look(topic, group)
            except Exception as error:
                # The log is down, or says something odd: nobody who works on records may die of that.
                self._metrics.poll_up.labels(topic, group).set(0)
                _log.warning("lag cannot be read", topic=topic, group=group, error=repr(error))

    async def _look(self, topic: str, group: str) -> None:
        metrics, place = self._metrics, (topic, group)
        lag = await self._log.lag(topic, group)
        metrics.undelivered.labels(*place).set(lag.undelivered)
        metrics.leased.labels(*place).set(lag.in_flight)
        metrics.waiting.labels(*place).set(lag.waiting)
        metrics.oldest.labels(*place).set(lag.oldest_age_ms / MS_PER_S)
        metrics.dead_open.labels(*place).set(lag.dead)
        metrics.lost.labels(*place).inc(max(0, lag.lost - self._lost.get(place, 0)))
        self._lost[place] = lag.lost
        metrics.poll_up.labels(*place).set(1)
