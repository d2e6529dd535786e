"""Looks every ten seconds how far groups are behind, in the main process of a group."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import structlog

from gristmill.adapters.local_host import new_owner
from gristmill.domain.errors import Unavailable
from gristmill.domain.log import Lag
from gristmill.engine.runner.metrics import LagMetrics, lag_metrics
from gristmill.engine.settings import topics_of
from gristmill.plans.plan import Generator
from gristmill.ports.clock import Clock
from gristmill.ports.log import Log
from gristmill.runtime.background import BackgroundService, Rhythm
from gristmill.runtime.composition.stores import open_store
from gristmill.runtime.spec import GroupSpec

__all__ = ["LagFace", "LagWatch", "oldest_age_ms_max"]

NAME = "lag"
LOOK_MS = 10_000
TELL_AGAIN_MS = 3_600_000

_log = structlog.get_logger()


class LagWatch:
    """Asks for the lag of each group and tells it.

    Args:
        age_ms_max: age of the oldest unread record above which somebody should look; None for no such age.
    """

    def __init__(
        self,
        log: Log,
        generators: Iterable[Generator],
        clock: Clock,
        metrics: LagMetrics,
        *,
        age_ms_max: Callable[[str], int | None] = lambda topic: None,
    ) -> None:
        self._log = log
        self._clock = clock
        self._metrics = metrics
        self._age_ms_max = age_ms_max
        self._told_at_ms: dict[tuple[str, str], int] = {}
        pairs = [(topic, one.type) for one in generators for topic in topics_of(one)]
        self._groups = list(dict.fromkeys(pairs))

    async def look(self) -> None:
        """Look once.

        Raises:
            Unavailable: the log cannot be asked now; what was told before stands.
        """
        try:
            for topic, group in self._groups:
                lag = await self._log.lag(topic, group)
                self._metrics.tell(topic, group, lag)
                self._warn(topic, group, lag)
        except Unavailable:
            for topic, group in self._groups:
                self._metrics.tell(topic, group, None)
            raise

    def _warn(self, topic: str, group: str, lag: Lag) -> None:
        most_ms, now_ms = self._age_ms_max(topic), self._clock.now_ms()
        if most_ms is None or not lag.undelivered or lag.oldest_age_ms <= most_ms:
            return
        told_at_ms = self._told_at_ms.get((topic, group))
        if told_at_ms is None or now_ms - told_at_ms >= TELL_AGAIN_MS:
            self._told_at_ms[topic, group] = now_ms
            oldest_s, lost_after_s = lag.oldest_age_ms // 1000, most_ms * 2 // 1000
            _log.warning("records will be lost", topic=topic, group=group, oldest_s=oldest_s, lost_after_s=lost_after_s)


class LagFace:
    """A background service over a store of its own; `start` and `stop` are safe to call twice."""

    def __init__(self, spec: GroupSpec, clock: Clock) -> None:
        self._store = open_store(spec, clock, new_owner())
        generators = [*spec.generators, *spec.awaited]
        watch = LagWatch(self._store.log, generators, clock, lag_metrics(), age_ms_max=oldest_age_ms_max(spec))
        self.service = BackgroundService(
            NAME, watch.look, rhythm=Rhythm(interval_ms=LOOK_MS, retry_interval_ms=LOOK_MS), clock=clock
        )

    async def start(self) -> None:
        """Look for the first time now, and go on in the background."""
        await self.service.start()

    async def join(self) -> None:
        """Return when it was stopped."""
        await self.service.join()

    async def stop(self) -> None:
        """Stop."""
        await self.service.stop()
        await self._store.close()


def oldest_age_ms_max(spec: GroupSpec) -> Callable[[str], int | None]:
    """Return half of the age at which brokers delete records, read or not; elsewhere no age deletes what is unread."""
    if spec.settings.log.backend != "kafka":
        return lambda topic: None
    from gristmill.runtime.log_kafka import retention_ms_of

    section = spec.settings.log
    return lambda topic: retention_ms_of(section, topic) // 2
