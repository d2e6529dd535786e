"""One generator as the Dispatcher sees it: its two topics, its rate, and whether it is up."""

from __future__ import annotations

import structlog

from gristmill.domain.errors import ConfigError, InvariantBroken
from gristmill.domain.log import Delivery
from gristmill.domain.steering import Orders
from gristmill.engine.core.backoff import Backoff
from gristmill.engine.core.bucket import TokenBucket
from gristmill.engine.core.draw import Candidate
from gristmill.engine.dispatch.desk import Desk
from gristmill.engine.settings import recovery_topic_of
from gristmill.plans.plan import Generator

__all__ = ["Feed"]

RECOVERY_LOOK_MS = 1_000
"""The recovery topic is looked at no more often: its records wait for half a minute and more anyway."""

_log = structlog.get_logger()


class Feed:
    """Claims records of one generator. A claim that raises is tried again after a back-off; nobody is ever dropped."""

    def __init__(self, generator: Generator, desk: Desk) -> None:
        self.generator = generator
        self.recovery_topic = recovery_topic_of(generator)
        self._desk = desk
        self._backoff = Backoff()
        self._up = desk.metrics.generator_up.labels(generator.type)
        self._up.set(1)
        rate = generator.max_qps
        self._bucket = None if rate is None else TokenBucket(rate, now_us=desk.clock.monotonic_us())
        self._recovery_look_at_ms = 0

    @property
    def topics(self) -> tuple[str, str]:
        """The generator's own topic and its recovery topic."""
        return (self.generator.topic, self.recovery_topic)

    @property
    def is_up(self) -> bool:
        """Whether its last claim succeeded."""
        return not self._backoff.is_failing

    def candidate(self) -> Candidate:
        """Return how much it may give now; no room while it is paused, backs off, or has its rate or share out."""
        weight = self._orders.weight or self.generator.weight
        return Candidate(self.generator.type, weight, 0 if self._orders.is_paused else self._room())

    def ready_in_ms(self) -> int:
        """Return milliseconds until its rate and back-off allow a claim, 0 if they do now."""
        desk = self._desk
        pause_ms = self._backoff.ready_in_ms(now_ms=desk.now_ms())
        if self._bucket is not None:
            pause_ms = max(pause_ms, self._bucket.due_in_ms(now_us=desk.clock.monotonic_us()))
        return pause_ms

    async def claim(self, limit: int, *, engine: str) -> list[Delivery]:
        """Lease up to `limit` records in an engine's name, retried ones among them; none when paused or failing."""
        if self._orders.is_paused:
            return []
        try:
            deliveries = await self._claim_both(limit, engine)
        except (ConfigError, InvariantBroken):
            # A log that is broken stays so; whoever started this process has to know.
            raise
        except Exception as error:
            pause_ms = self._backoff.on_failure(now_ms=self._desk.now_ms())
            self._up.set(0)
            _log.warning("claim failed", generator=self.generator.type, error=repr(error), retry_in_ms=pause_ms)
            return []
        if self._backoff.is_failing:
            self._backoff.on_success()
            self._up.set(1)
        if self._bucket is not None:
            self._bucket.take(len(deliveries), now_us=self._desk.clock.monotonic_us())
        return deliveries

    @property
    def _orders(self) -> Orders:
        return self._desk.orders_of(self.generator.type)

    def _room(self) -> int:
        desk, limit = self._desk, self.generator.max_in_flight
        if self._backoff.ready_in_ms(now_ms=desk.now_ms()) > 0:
            return 0
        room = desk.settings.max_in_flight
        if limit is not None:
            room = min(room, limit - desk.in_flight.count_of_generator(self.generator.type))
        if self._bucket is not None:
            room = min(room, self._bucket.available(now_us=desk.clock.monotonic_us()))
        return max(0, room)

    async def _claim_both(self, limit: int, engine: str) -> list[Delivery]:
        retried: list[Delivery] = []
        now_ms = self._desk.now_ms()
        if now_ms >= self._recovery_look_at_ms:
            # At most half, so that a flood of retries leaves room for fresh records.
            retried = await self._claim(self.recovery_topic, engine, max(1, limit // 2))
            if not retried:
                self._recovery_look_at_ms = now_ms + RECOVERY_LOOK_MS
        fresh = limit - len(retried)
        return [*retried, *(await self._claim(self.generator.topic, engine, fresh))] if fresh else retried

    async def _claim(self, topic: str, engine: str, limit: int) -> list[Delivery]:
        lease_ms = self._desk.settings.lease_ms
        return await self._desk.log.claim(topic, self.generator.type, owner=engine, limit=limit, lease_ms=lease_ms)
