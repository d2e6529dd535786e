"""Takes records in: each goes to the topic of its type, or the sender learns why not."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from gristmill.domain.errors import DataError
from gristmill.domain.log import NewRecord
from gristmill.engine.messages.core.envelope import Envelope, check_envelope
from gristmill.engine.messages.core.routes import RoutingTable
from gristmill.engine.messages.core.wire import write_record
from gristmill.engine.messages.metrics import MessageMetrics, message_metrics
from gristmill.ports.clock import Clock
from gristmill.ports.log import RECORDS_PER_CALL_MAX, Log

__all__ = ["MessageSender"]


class MessageSender:
    """The way in for senders that have nothing to commit with their record; others put `route` into their outbox."""

    def __init__(self, log: Log, table: RoutingTable, clock: Clock, *, metrics: MessageMetrics | None = None) -> None:
        self._log = log
        self._table = table
        self._clock = clock
        self._metrics = message_metrics() if metrics is None else metrics

    def route(self, envelope: Envelope) -> tuple[str, NewRecord]:
        """Return the topic and the record of an envelope; nothing is appended.

        Raises:
            UnknownType: no route is known for its type; the nearest known one is named.
            DataError: an attribute is wrong; it is named.
        """
        try:
            check_envelope(envelope)
            route, prepared = self._table.prepare(envelope, now_ms=self._clock.now_ms())
        except DataError as error:
            self._metrics.refused.labels(type(error).__name__).inc()
            raise
        record = write_record(prepared)
        return route.topic, record if route.order == "key" else msgspec.structs.replace(record, key="")

    async def send(self, envelopes: Sequence[Envelope]) -> None:
        """Append records to the topics of their types, in their order; durable once returned.

        Either all can be routed or none is appended. A repeat after an error is harmless: what was appended before is
        recognised by its id.

        Raises:
            UnknownType, DataError: as `route` does.
            UsageError: a body above the limit of a record.
            Unavailable: some may have been appended; send all again.
        """
        by_topic: dict[str, list[NewRecord]] = {}
        for envelope in envelopes:
            topic, record = self.route(envelope)
            by_topic.setdefault(topic, []).append(record)
        for topic, records in by_topic.items():
            for start in range(0, len(records), RECORDS_PER_CALL_MAX):
                await self._log.append(topic, records[start : start + RECORDS_PER_CALL_MAX])
        for envelope in envelopes:
            self._metrics.sent.labels(envelope.type, self._table.find(envelope.type).tier).inc()
