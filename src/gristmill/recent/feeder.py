"""Turns raw content events into packed frames: the costly reading and sorting out happens once, not in every server.

Several feeders share the work on a topic as one group. Frames are appended in the step that accepts what they were made
of, where the log can do that; elsewhere an event may come twice, which changes nothing in a store.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import structlog

from gristmill.domain.errors import DataError, Unavailable
from gristmill.domain.log import Delivery, NewRecord
from gristmill.ports.clock import Clock
from gristmill.ports.log import Log
from gristmill.recent.core.event import Event, rows_of
from gristmill.recent.core.feed import DropReason, FeedRules, RawMapping, decide_event, read_raw
from gristmill.recent.core.frames import EVENTS_PER_FRAME_MAX, FRAME_CONTENT, encode_frame
from gristmill.recent.metrics import FeederMetrics

__all__ = ["CONTENT_HEADER", "Feeder"]

T = TypeVar("T")

CONTENT_HEADER = "content-type"
RECORDS_PER_CLAIM = 1_000
LEASE_MS = 60_000
RETRY_MS = 100
SEND_TIMEOUT_MS = 30_000
POLL_TIMEOUT_MS = 600_000
"""A log that refuses for so long is told to whoever watches over this process: another start may find a better one."""

US_PER_MS = 1_000

WAIT_MS = 1_000
KEY_RANGES = 16
"""Events of one author go into frames of one key, so that they stay in order where a log has partitions."""


class Feeder:
    """One member of the group that feeds.

    Args:
        owner: unique for each start of a process.
        source, sink: topics of raw events and of frames.
    """

    def __init__(
        self,
        log: Log,
        clock: Clock,
        *,
        owner: str,
        source: str,
        sink: str,
        group: str,
        metrics: FeederMetrics,
        rules: FeedRules,
        mapping: RawMapping,
    ) -> None:
        self._log = log
        self._clock = clock
        self._owner = owner
        self._source = source
        self._sink = sink
        self._group = group
        self._metrics = metrics
        self._rules = rules
        self._mapping = mapping
        self._is_stopping = False

    async def run(self) -> None:
        """Feed until stopped.

        Raises:
            Unavailable: the log has refused for too long.
        """
        while not self._is_stopping:
            if not await self.run_once() and not self._is_stopping:
                await self._log.wait([self._source], timeout_ms=WAIT_MS)

    async def run_once(self) -> int:
        """Feed what waits, up to a claim; return how many records that was.

        Raises:
            Unavailable: the log has refused for too long; nothing was accepted, and all of it comes again.
        """
        deliveries = await self._persist(
            lambda: self._log.claim(
                self._source, self._group, owner=self._owner, limit=RECORDS_PER_CLAIM, lease_ms=LEASE_MS
            ),
            give_up_ms=POLL_TIMEOUT_MS,
        )
        if deliveries:
            leases = [delivery.lease for delivery in deliveries]
            frames = [(self._sink, frame) for frame in self._pack(self._decide(deliveries))]
            await self._persist(lambda: self._log.accept(leases, then=frames), give_up_ms=SEND_TIMEOUT_MS)
        return len(deliveries)

    def stop(self) -> None:
        """End after the claim that is under way."""
        self._is_stopping = True

    async def _persist(self, call: Callable[[], Awaitable[T]], *, give_up_ms: int) -> T:
        """Try again while the log refuses, until it has refused for too long."""
        began_us = self._clock.monotonic_us()
        while True:
            try:
                return await call()
            except Unavailable as error:
                if self._clock.monotonic_us() - began_us >= give_up_ms * US_PER_MS:
                    raise
                self._metrics.poll_errors.inc()
                structlog.get_logger().warning("log refuses", topic=self._source, error=str(error))
                await self._clock.sleep_ms(RETRY_MS)

    def _decide(self, deliveries: Sequence[Delivery]) -> list[Event]:
        now_ms = self._clock.now_ms()
        events: list[Event] = []
        for delivery in deliveries:
            decided = self._decide_one(delivery.value, now_ms=now_ms)
            if isinstance(decided, Event):
                self._metrics.events.labels(decided.kind.name.lower()).inc()
                events.append(decided)
            else:
                self._metrics.dropped.labels(decided).inc()
        return events

    def _decide_one(self, value: bytes, *, now_ms: int) -> Event | DropReason:
        try:
            return decide_event(read_raw(value, self._mapping), self._rules, now_ms=now_ms)
        except DataError as error:
            structlog.get_logger().debug("raw event left out", error=str(error))
            return "malformed"

    def _pack(self, events: Sequence[Event]) -> list[NewRecord]:
        ranges = KEY_RANGES if "partitioned" in self._log.capabilities else 1
        by_range: dict[int, list[Event]] = {}
        for event in events:
            by_range.setdefault(event.author % ranges, []).append(event)
        return [
            NewRecord(
                encode_frame(rows_of(some[start : start + EVENTS_PER_FRAME_MAX])),
                key=str(number),
                headers={CONTENT_HEADER: FRAME_CONTENT},
            )
            for number, some in by_range.items()
            for start in range(0, len(some), EVENTS_PER_FRAME_MAX)
        ]
