"""The thread that polls for one member of a Kafka consumer group, and the only place that calls its consumer.

A consumer holds a lock while it polls, and whoever else calls it waits for as long. So all calls are made here, as
orders, and the thread never waits inside a poll but for orders, a little longer each time that nothing has come. What
it learns it tells the listener on the event loop; it never waits for work, so slow work costs no membership.

A consumer that fails is replaced after a pause, for as long as it takes.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import queue
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol, TypeVar

import msgspec
import structlog
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from gristmill.adapters.kafka.core.book import Partition
from gristmill.adapters.kafka.core.start import Start, decide_start
from gristmill.adapters.kafka.producing import PASSING, client_config
from gristmill.adapters.kafka.settings import KafkaSettings
from gristmill.domain.errors import Unavailable

__all__ = ["Listener", "PollThread"]

IDLE_S_MIN = 0.001
IDLE_S_MAX = 0.05
IDLE_GROWTH = 1.5
"""How long the thread waits before it looks for messages again; bounds how late the first one after a pause comes."""

MESSAGES_PER_POLL_MAX = 1_000
BATCHES_MAX = 4
"""Batches that the thread has handed over and the loop has not taken in."""

RESTART_S = 1.0
"""Pause before a consumer that failed is replaced."""

TRIES_MAX = 40
RETRY_S = 0.1
"""How often and after what pause a question about a partition is asked again (4 s in all)."""

PREFETCH_KBYTES = 16 * 1024
"""What librdkafka holds for a group beside our own buffer."""

FETCH_WAIT_MS = 300
"""How long a broker keeps a question for more records open; it answers at once when there are some. That is how often
an idle member asks, and how long a partition that goes on after a pause may have to wait."""

STATISTICS_MS = 1_000
SILENT_US_MAX = 4_000_000
"""A broker that answers says something at least with every heartbeat, which is every 3 s."""

T = TypeVar("T")

_log = structlog.get_logger()


class _Broker(msgspec.Struct):
    """What librdkafka says of its connection to a broker; `rxidle` in microseconds, below 0 if nothing came yet."""

    state: str
    rxidle: int = -1


class _Statistics(msgspec.Struct):
    brokers: dict[str, _Broker]


class Listener(Protocol):
    """Who is told what the thread learns; always on the event loop."""

    def begin(self, starts: Sequence[tuple[Partition, Start, int]]) -> None:
        """Partitions are ours: where each begins, and its end now."""

    def take(self, messages: Sequence[Message]) -> None:
        """Messages have come in."""

    async def hand_over(self, partitions: set[Partition]) -> list[TopicPartition]:
        """Let go of partitions in order; return what is to be committed for them."""
        ...

    def forget(self, partitions: set[Partition]) -> None:
        """Partitions are lost; somebody else may have them already."""


class PollThread:
    """See the module. It runs from its making until `close`."""

    def __init__(self, settings: KafkaSettings, *, kafka_group: str, topics: Sequence[str], listener: Listener) -> None:
        self._settings = settings
        self._kafka_group = kafka_group
        self._topics = list(topics)
        self._listener = listener
        self._loop = asyncio.get_running_loop()
        self._room = threading.Semaphore(BATCHES_MAX)
        self._orders: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._owned: set[Partition] = set()
        self._is_closed = False
        self._failure: Exception | None = None
        self._pause = threading.Event()
        self.heard_at_s = self._loop.time()
        """When a broker was known to answer, in the time of the loop."""
        self._consumer: Consumer = _make_consumer(settings, kafka_group, self._on_statistics)
        self._thread = threading.Thread(target=self._run, name=f"kafka-{kafka_group}", daemon=True)
        self._thread.start()

    async def close(self) -> None:
        """Hand over what is ours, leave the group and end the thread."""
        self._is_closed = True
        self._room.release()
        self._orders.put(_nothing)
        await asyncio.to_thread(self._thread.join)

    def pause(self, partitions: set[Partition]) -> None:
        """Fetch no more of these partitions."""
        self._steer(lambda these: self._consumer.pause(these), partitions)

    def resume(self, partitions: set[Partition]) -> None:
        """Fetch these partitions again."""
        self._steer(lambda these: self._consumer.resume(these), partitions)

    async def commit(self, wanted: Sequence[TopicPartition]) -> list[TopicPartition]:
        """Commit for the partitions that are still ours; return what the brokers say of each.

        Raises:
            KafkaException: nothing is committed.
            Unavailable: the thread has ended.
        """
        return await self._order(lambda: self._send_commit(wanted))

    def _steer(self, steer: Callable[[list[TopicPartition]], None], partitions: set[Partition]) -> None:
        def order() -> None:
            try:
                steer([TopicPartition(*partition) for partition in partitions & self._owned])
            except (KafkaException, RuntimeError) as error:
                # It was revoked this very moment; the rebalance will tell.
                _log.debug("partition cannot be steered", error=str(error))

        if partitions:
            self._orders.put(order)

    async def _order(self, call: Callable[[], T]) -> T:
        """Have the poll thread make a call and return its answer."""
        answer: concurrent.futures.Future[T] = concurrent.futures.Future()

        def order() -> None:
            if not answer.set_running_or_notify_cancel():
                return
            try:
                answer.set_result(call())
            except BaseException as error:
                answer.set_exception(error)

        self._orders.put(order)
        if not self._thread.is_alive():
            raise Unavailable(f"member of group {self._kafka_group!r} has ended", advice="open the log again")
        return await asyncio.wrap_future(answer)

    def _take(self, messages: Sequence[Message]) -> None:
        self._room.release()
        self._listener.take(messages)

    def _run(self) -> None:
        while not self._is_closed:
            try:
                self._serve()
            except Exception as error:
                # Only its text: what librdkafka raises is at times no exception that can be shown with its trace.
                _log.warning("kafka member failed", group=self._kafka_group, error=str(error), again_in_s=RESTART_S)
            self._leave()
            if not self._is_closed:
                self._obey(RESTART_S)
                self._consumer = _make_consumer(self._settings, self._kafka_group, self._on_statistics)

    def _serve(self) -> None:
        self._consumer.subscribe(
            self._topics, on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_lost
        )
        idle_s = 0.0
        while not self._is_closed:
            self._obey(idle_s)
            idle_s = 0.0 if self._poll() else min(max(idle_s * IDLE_GROWTH, IDLE_S_MIN), IDLE_S_MAX)

    def _leave(self) -> None:
        try:
            self._consumer.close()
        except (KafkaException, RuntimeError) as error:
            _log.warning("kafka member did not leave in order", group=self._kafka_group, error=str(error))
        if self._owned:
            self._on_lost(self._consumer, [TopicPartition(*partition) for partition in self._owned])

    def _obey(self, wait_s: float) -> None:
        """Carry out all orders; wait a little for the first."""
        try:
            order = self._orders.get(timeout=wait_s) if wait_s else self._orders.get_nowait()
            while True:
                order()
                order = self._orders.get_nowait()
        except queue.Empty:
            return

    def _poll(self) -> bool:
        """Hand what has come in to the loop; False if that was nothing."""
        first = self._consumer.poll(0)
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        if first is None:
            return False
        messages: list[Message] = []
        for message in [first, *self._consumer.consume(MESSAGES_PER_POLL_MAX - 1, 0)]:
            error = message.error()
            if error is None:
                messages.append(message)
            else:
                self._on_error(error, message)
        if messages:
            self._room.acquire()
            if not self._is_closed:
                self._loop.call_soon_threadsafe(self._take, messages)
        return True

    def _send_commit(self, wanted: Sequence[TopicPartition]) -> list[TopicPartition]:
        """Commit what is still ours: a commit for what another has by now could set that other back."""
        ours = [one for one in wanted if (one.topic, one.partition) in self._owned]
        return (self._consumer.commit(offsets=ours, asynchronous=False) or []) if ours else []

    def _on_error(self, error: KafkaError, message: Message) -> None:
        code = error.code()
        if code in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE) and message.topic() is not None:
            partition = TopicPartition(message.topic() or "", message.partition() or 0)
            self._consumer.incremental_unassign([partition])
            self._on_assign(self._consumer, [partition])
        elif error.fatal():
            raise KafkaException(error)
        elif code != KafkaError._PARTITION_EOF:
            _log.info("kafka member", group=self._kafka_group, error=error.str())

    def _on_statistics(self, text: str) -> None:
        brokers = msgspec.json.decode(text, type=_Statistics).brokers.values()
        if any(broker.state == "UP" and 0 <= broker.rxidle < SILENT_US_MAX for broker in brokers):
            self.heard_at_s = self._loop.time()

    def _on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        with self._keeping_failure():
            timeout_s = self._settings.timeout_ms / 1_000
            starts: list[tuple[Partition, Start, int]] = []
            for found in self._try_for_a_while(lambda: consumer.committed(partitions, timeout=timeout_s)):
                if found.error is not None:
                    raise KafkaException(found.error)
                low, high = self._try_for_a_while(partial(consumer.get_watermark_offsets, found, timeout=timeout_s))
                committed = found.offset if found.offset >= 0 else None
                start = decide_start(committed=committed, metadata=found.metadata or "", low=low, high=high)
                starts.append(((found.topic, found.partition), start, high))
            self._owned.update(partition for partition, _, _ in starts)
            self._loop.call_soon_threadsafe(self._listener.begin, starts)
            consumer.incremental_assign([TopicPartition(*partition, start.base) for partition, start, _ in starts])

    def _on_revoke(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        leaving = {(one.topic, one.partition) for one in partitions}
        with self._keeping_failure():
            self._send_commit(self._ask_loop(self._listener.hand_over(leaving)))
        self._owned -= leaving

    def _on_lost(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """Somebody else may have them already: nothing is committed."""
        _log.warning("partitions were lost", group=self._kafka_group, count=len(partitions))
        lost = {(one.topic, one.partition) for one in partitions}
        self._owned -= lost
        self._loop.call_soon_threadsafe(self._listener.forget, lost)

    @contextmanager
    def _keeping_failure(self) -> Iterator[None]:
        """Keep what fails inside a callback: out of the poll it would come as something that nobody can catch."""
        try:
            yield
        except Exception as error:
            self._failure = error

    def _try_for_a_while(self, call: Callable[[], T]) -> T:
        """Make a call again where trying may help: a topic just made has no leader for a moment."""
        for _ in range(TRIES_MAX):
            try:
                return call()
            except KafkaException as error:
                if error.args[0].code() not in PASSING:
                    raise
                self._pause.wait(RETRY_S)
        return call()

    def _ask_loop(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


def _nothing() -> None:
    """Wake the thread."""


def _make_consumer(settings: KafkaSettings, kafka_group: str, on_statistics: Callable[[str], None]) -> Consumer:
    session_ms = int(settings.client.get("session.timeout.ms", settings.session_timeout_ms))
    return Consumer(
        {
            "max.poll.interval.ms": max(settings.poll_interval_ms_max, session_ms),
            **client_config(settings),
            "group.id": kafka_group,
            "partition.assignment.strategy": "cooperative-sticky",
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "auto.offset.reset": "error",  # A place that is gone is told, never jumped over.
            "session.timeout.ms": session_ms,
            "heartbeat.interval.ms": max(100, min(3_000, session_ms // 3)),
            "queued.max.messages.kbytes": PREFETCH_KBYTES,
            "fetch.wait.max.ms": FETCH_WAIT_MS,
            "fetch.message.max.bytes": 4 * 1024 * 1024,
            "topic.metadata.refresh.interval.ms": 5_000,
            "allow.auto.create.topics": False,
            "statistics.interval.ms": STATISTICS_MS,
            "stats_cb": on_statistics,
        }
    )
