"""Reading without a group: what lies in a topic between two places, batch by batch."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Mapping, Sequence

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

from gristmill.adapters.kafka.producing import client_config, translate
from gristmill.adapters.kafka.settings import KafkaSettings
from gristmill.domain.errors import Unavailable

__all__ = ["ProgressReader", "TopicReader"]

MESSAGES_PER_BATCH = 500
POLL_S = 0.5
SILENT_POLLS_MAX = 40
"""Polls without any message after which reading gives up (20 s); the brokers said that there is one."""

ASKERS_MAX = 16
"""Groups that a connection is kept for; the one that was not asked about for longest goes first."""


class TopicReader:
    """A consumer that belongs to no group; one reading at a time."""

    def __init__(self, settings: KafkaSettings) -> None:
        self._settings = settings
        self._consumer: Consumer | None = None
        self._lock = threading.Lock()

    async def read(
        self, topic: str, *, starts: Mapping[int, int], ends: Mapping[int, int]
    ) -> AsyncIterator[list[Message]]:
        """Yield what lies in each partition from its start to below its end, in the order in which it comes in."""
        at = {number: start for number, start in starts.items() if start < ends.get(number, 0)}
        if not at:
            return
        silent_polls = 0
        await asyncio.to_thread(self._assign, topic, at)
        try:
            while at:
                messages = await asyncio.to_thread(self._consume)
                silent_polls = 0 if messages else silent_polls + 1
                if silent_polls > SILENT_POLLS_MAX:
                    raise Unavailable(
                        f"topic {topic!r} cannot be read", value=at, advice="check that the brokers are up"
                    )
                if wanted := _take_wanted(messages, at, ends):
                    yield wanted
                if not messages:
                    await self._drop_passed(at, ends)
        finally:
            # Otherwise it goes on to ask the brokers for more, as often as they answer.
            await asyncio.to_thread(self._assign, topic, {})

    async def close(self) -> None:
        """Let go of the connection."""
        if self._consumer is not None:
            await asyncio.to_thread(self._consumer.close)
            self._consumer = None

    async def _drop_passed(self, at: dict[int, int], ends: Mapping[int, int]) -> None:
        """Leave partitions whose last offsets hold nothing any more: compaction takes records from the middle."""
        consumer = self._consumer
        if consumer is None:
            return
        for one in await asyncio.to_thread(consumer.position, consumer.assignment()):
            if one.partition in at and one.offset >= ends[one.partition]:
                del at[one.partition]

    def _assign(self, topic: str, at: Mapping[int, int]) -> None:
        with self._lock:
            if self._consumer is None:
                self._consumer = _make_reader(self._settings)
            self._consumer.assign([TopicPartition(topic, number, offset) for number, offset in at.items()])

    def _consume(self) -> Sequence[Message]:
        with self._lock:
            if self._consumer is None:
                return []
            try:
                first = self._consumer.poll(POLL_S)
                polled = [] if first is None else [first, *self._consumer.consume(MESSAGES_PER_BATCH - 1, 0)]
            except KafkaException as error:
                raise translate(error, "a topic cannot be read") from error
        return [message for message in polled if message.error() is None]


def _take_wanted(messages: Sequence[Message], at: dict[int, int], ends: Mapping[int, int]) -> list[Message]:
    """Return what lies below the ends, and leave partitions that have come to theirs."""
    wanted: list[Message] = []
    for message in messages:
        number, offset = message.partition() or 0, message.offset() or 0
        if number not in at:
            continue
        if offset < ends[number]:
            wanted.append(message)
        if offset + 1 >= ends[number]:
            del at[number]
    return wanted


class ProgressReader:
    """Asks what groups have committed, each by a consumer under its name that never joins it.

    librdkafka's admin client answers this too, but after its connection to the group's coordinator broke it waits for
    that one for ever, and a coordinator that is still loading has it end the process.
    """

    def __init__(self, settings: KafkaSettings) -> None:
        self._settings = settings
        self._consumers: dict[str, Consumer] = {}
        self._lock = threading.Lock()

    async def read(self, kafka_group: str, partitions: Sequence[TopicPartition]) -> list[TopicPartition]:
        """Return the partitions with offset and metadata, the offset below 0 where nothing is committed."""
        try:
            return await asyncio.to_thread(self._ask, kafka_group, list(partitions))
        except KafkaException as error:
            raise translate(error, f"progress of group {kafka_group!r}") from error

    async def close(self) -> None:
        """Let go of all connections."""
        await asyncio.to_thread(self._close)

    def _ask(self, kafka_group: str, partitions: list[TopicPartition]) -> list[TopicPartition]:
        with self._lock:
            consumer = self._consumers.pop(kafka_group, None)
            self._consumers[kafka_group] = consumer = consumer or _make_reader(self._settings, kafka_group)
            if len(self._consumers) > ASKERS_MAX:
                self._consumers.pop(next(iter(self._consumers))).close()
            found = consumer.committed(partitions, timeout=self._settings.timeout_ms / 1_000)
        for one in found:
            if one.error is not None:
                raise KafkaException(one.error)
        return found

    def _close(self) -> None:
        with self._lock:
            while self._consumers:
                self._consumers.popitem()[1].close()


def _make_reader(settings: KafkaSettings, kafka_group: str = "") -> Consumer:
    return Consumer(
        {
            **client_config(settings),
            "group.id": kafka_group or f"{settings.prefix}readers",  # Never joined; librdkafka wants a name.
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "queued.max.messages.kbytes": 16 * 1024,
            "fetch.wait.max.ms": 20,
        }
    )
