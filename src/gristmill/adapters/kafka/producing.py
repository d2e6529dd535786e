"""Writing to Kafka: every record acknowledged by all replicas in sync before a call returns."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

import structlog
from confluent_kafka import KafkaError, KafkaException, Message, Producer

from gristmill.adapters.kafka.core.wire import ToWrite
from gristmill.adapters.kafka.settings import KafkaSettings
from gristmill.domain.errors import ConfigError, OutcomeUnknown, Unavailable, UsageError
from gristmill.ports.log import RECORD_BYTES_MAX

__all__ = ["PASSING", "RecordProducer", "client_config", "translate"]

PASSING = frozenset(
    {
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError._UNKNOWN_PARTITION,
        KafkaError._TRANSPORT,
    }
)
"""Errors that pass by themselves: a topic that was just made has no leader for a moment, a broker comes back."""

POLL_S = 0.5
"""Longest wait of the thread that takes answers; an answer ends it at once."""

RECONNECT_MS_MAX = 1_000
"""Longest pause before a connection that broke is made again; by itself librdkafka waits up to 10 s after several."""

REQUEST_BYTES_MAX = RECORD_BYTES_MAX + 1024 * 1024
"""Room for the largest record with its headers."""

_log = structlog.get_logger()


class RecordProducer:
    """One idempotent producer and the thread that takes its answers."""

    def __init__(self, settings: KafkaSettings) -> None:
        self._timeout_s = settings.timeout_ms / 1_000
        self._settings = settings
        self._producer: Producer | None = None
        self._is_closed = False
        self._thread = threading.Thread(target=self._poll, name="kafka-producer", daemon=True)

    async def write(self, records: Sequence[ToWrite]) -> list[tuple[int, int]]:
        """Write records and return partition and Kafka offset of each.

        Raises:
            OutcomeUnknown: no answer in time; some may be written.
            Unavailable: refused, though a later try may fare better.
            UsageError: the brokers take no records of this size.
            ConfigError: they do not let this user write.
        """
        if self._producer is None:
            self._producer = _make_producer(self._settings)
            self._thread.start()
        batch = _Batch(asyncio.get_running_loop(), len(records))
        for index, record in enumerate(records):
            try:
                _produce(self._producer, record, batch, index)
            except (KafkaException, BufferError) as error:
                batch.fail(index, error)
        await batch.done
        if batch.refused:
            refusal = translate(batch.refused[0], "records cannot be written")
            if len(batch.refused) < len(records) and isinstance(refusal, Unavailable):
                refusal = OutcomeUnknown(refusal.thing, value=refusal.value, advice="some are written, some are not")
            raise refusal from batch.refused[0]
        return batch.places

    async def close(self) -> None:
        """Wait for what is under way and end the thread."""
        if self._is_closed or self._producer is None:
            return
        self._is_closed = True
        await asyncio.to_thread(self._thread.join)
        await asyncio.to_thread(self._producer.flush, self._timeout_s)

    def _poll(self) -> None:
        while not self._is_closed and self._producer is not None:
            try:
                self._producer.poll(POLL_S)
            except KafkaException as error:
                _log.warning("kafka producer", error=str(error))


class _Batch:
    """Collects the answers of one call; told by the thread, awaited on the loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, count: int) -> None:
        self._loop = loop
        self._open_count = count
        self._lock = threading.Lock()
        self.places = [(0, 0)] * count
        self.refused: list[BaseException] = []
        self.done: asyncio.Future[None] = loop.create_future()

    def answer(self, index: int, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.fail(index, KafkaException(error))
            return
        partition, offset = message.partition(), message.offset()
        self.places[index] = (partition or 0, offset or 0)
        self._count()

    def fail(self, index: int, error: BaseException) -> None:
        self.refused.append(error)
        self._count()

    def _count(self) -> None:
        with self._lock:
            self._open_count -= 1
            is_last = self._open_count == 0
        if is_last and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._finish)

    def _finish(self) -> None:
        if not self.done.done():
            self.done.set_result(None)


def client_config(settings: KafkaSettings) -> dict[str, Any]:
    """Return what every client is told: where the brokers are, to be back soon, and to speak through our log."""
    return {
        "log_level": 0,
        "error_cb": _note_error,
        "reconnect.backoff.max.ms": RECONNECT_MS_MAX,
        **settings.client,
        "bootstrap.servers": settings.brokers,
    }


def _make_producer(settings: KafkaSettings) -> Producer:
    return Producer(
        {
            **client_config(settings),
            "acks": "all",
            "enable.idempotence": True,
            "linger.ms": 1,
            "partitioner": "murmur2_random",  # As Java's clients do it: a key has one partition, whoever writes.
            "delivery.timeout.ms": settings.timeout_ms,
            "request.timeout.ms": min(settings.timeout_ms, 30_000),
            "message.max.bytes": REQUEST_BYTES_MAX,
        }
    )


def _produce(producer: Producer, record: ToWrite, batch: _Batch, index: int) -> None:
    def on_answer(error: KafkaError | None, message: Message) -> None:
        batch.answer(index, error, message)

    producer.produce(
        record.topic,
        value=record.value,
        key=record.key.encode() if record.key else None,
        headers=[(name, value.encode()) for name, value in record.headers.items()],
        timestamp=record.at_ms,
        partition=-1 if record.partition is None else record.partition,
        on_delivery=on_answer,
    )


def translate(error: BaseException, thing: str) -> Exception:
    """Return the error of ours that says what the caller can do."""
    cause = error.args[0] if isinstance(error, KafkaException) else None
    if not isinstance(cause, KafkaError):
        return Unavailable(thing, value=str(error), advice="try again later")
    text = f"{cause.name()}: {cause.str()}"
    if cause.code() in (KafkaError._MSG_TIMED_OUT, KafkaError._TIMED_OUT, KafkaError.REQUEST_TIMED_OUT):
        return OutcomeUnknown(thing, value=text, advice="no answer of the brokers in time; check that they are up")
    if cause.code() in (KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.RECORD_LIST_TOO_LARGE):
        return UsageError(thing, value=text, advice=f"raise message.max.bytes of the brokers to {REQUEST_BYTES_MAX}")
    if cause.code() in (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.GROUP_AUTHORIZATION_FAILED):
        return ConfigError(thing, value=text, advice="give this user the right, or another prefix")
    if cause.code() in (KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN, KafkaError._RESOLVE):
        return Unavailable(thing, value=text, advice="start the brokers, or mend log.brokers")
    return Unavailable(thing, value=text, advice="try again later")


def _note_error(error: KafkaError) -> None:
    _log.info("kafka client", error=error.str())
