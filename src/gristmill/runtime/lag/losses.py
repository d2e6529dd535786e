"""Tells what groups have lost where only the process that claims for them knows it."""

from __future__ import annotations

from collections.abc import Iterable

import structlog

from gristmill.domain.errors import Unavailable
from gristmill.engine.runner.metrics import LagMetrics
from gristmill.engine.settings import topics_of
from gristmill.plans.plan import Generator
from gristmill.ports.clock import Clock
from gristmill.ports.log import Log

__all__ = ["LossWatch"]

LOOK_MS = 10_000

_log = structlog.get_logger()


class LossWatch:
    """Asks again and again, in the process of a dispatcher; on logs that count for all it does nothing."""

    def __init__(self, log: Log, generators: Iterable[Generator], clock: Clock, metrics: LagMetrics) -> None:
        self._log = log
        self._clock = clock
        self._metrics = metrics
        pairs = [(topic, one.type) for one in generators for topic in topics_of(one)]
        self._groups = list(dict.fromkeys(pairs)) if "claimer_settles" in log.capabilities else []

    async def run(self) -> None:
        """Look for ever; at once over where there is nothing to tell."""
        while self._groups:
            await self._clock.sleep_ms(LOOK_MS)
            try:
                await self.look()
            except Unavailable as error:
                _log.warning("losses cannot be asked for", error=str(error))

    async def look(self) -> None:
        """Look once.

        Raises:
            Unavailable: the log cannot be asked now.
        """
        for topic, group in self._groups:
            lag = await self._log.lag(topic, group)
            self._metrics.tell_lost(topic, group, lag.lost)
