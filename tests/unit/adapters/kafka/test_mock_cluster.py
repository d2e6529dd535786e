"""The Kafka log against the brokers that librdkafka plays inside this process: no server, nothing on a disk.

They make no topics on request, describe nothing and always give four partitions; the contract runs with a real broker.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from itertools import count

import pytest
from confluent_kafka import Producer

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.kafka import KafkaInlet, KafkaLog, KafkaSettings
from gristmill.adapters.kafka.core.tiers import Ordering
from gristmill.adapters.memory import MemoryStore
from gristmill.domain.front.publication import KeyTaken, Once, Publication, Published
from gristmill.domain.ids import ItemId
from gristmill.domain.log import Delivery, Diagnosis, NewRecord

LEASE_MS = 30_000
TIER_MS = 1_000

_numbers = count(1)


@pytest.fixture(scope="module")
def brokers() -> Iterator[str]:
    cluster = Producer({"bootstrap.servers": "unused", "test.mock.num.brokers": "1", "log_level": 0})
    yield ",".join(f"{one.host}:{one.port}" for one in cluster.list_topics(timeout=10).brokers.values())
    del cluster


class Logs:
    """Opens logs under one prefix, as processes of one group would."""

    def __init__(self, brokers: str) -> None:
        self._brokers = brokers
        self._prefix = f"mock{next(_numbers)}."
        self._open: list[KafkaLog] = []

    async def open(self, *, settle_ms: int = 20_000, ordering: Ordering = "none", drain_ms: int = 0) -> KafkaLog:
        settings = KafkaSettings(
            brokers=self._brokers,
            prefix=self._prefix,
            tiers_ms=(TIER_MS,),
            settle_ms=settle_ms,
            ordering=ordering,
            drain_ms=drain_ms,
            session_timeout_ms=6_000,
            makes_topics=False,
        )
        log = KafkaLog(settings, SystemClock())
        self._open.append(log)
        return log

    async def begin(self, log: KafkaLog, topic: str = "t") -> None:
        """Have the brokers make the topics that a group reads."""
        await log.append(topic, [NewRecord(b"first")])
        names = [f"{self._prefix}{topic}.g.retry.{TIER_MS // 1_000}s"]
        producer = Producer({"bootstrap.servers": self._brokers, "log_level": 0})
        for name in names:
            producer.list_topics(name, timeout=10)

    async def close(self) -> None:
        for log in self._open:
            await log.close()


@pytest.fixture
async def logs(brokers: str) -> AsyncIterator[Logs]:
    logs = Logs(brokers)
    yield logs
    await logs.close()


async def claim(log: KafkaLog, *, limit: int = 100) -> list[Delivery]:
    return await log.claim("t", "g", owner="me", limit=limit, lease_ms=LEASE_MS)


async def test_what_is_done_stays_done_and_what_was_started_is_counted_for_the_next_process(logs: Logs) -> None:
    first = await logs.open()
    await logs.begin(first)
    await first.append("t", [NewRecord(b"%d" % number, key=f"k{number}") for number in range(20)])
    deliveries = await claim(first)
    assert len(deliveries) == 21
    done = [one.lease for one in deliveries if one.value != b"first"][::2]
    assert await first.accept(done) == [True] * len(done)
    assert await first.renew(done[:1], lease_ms=LEASE_MS) == [False]
    lag = await first.lag("t", "g")
    assert (lag.undelivered, lag.in_flight, lag.waiting) == (0, 21 - len(done), 0)
    left = {one.lease.offset for one in deliveries} - {lease.offset for lease in done}
    assert (await first.hold_of("t", "g", min(left))) is not None
    await first.close()
    second = await logs.open()
    apart = await second.lag("t", "g")
    assert apart.undelivered == len(left)
    assert apart.oldest_age_ms > 0
    again = await claim(second)
    assert {one.lease.offset for one in again} == left
    assert {one.attempt for one in again} == {2}
    assert await second.hold_of("t", "g", done[0].offset) is None


async def test_a_record_that_is_given_back_comes_again_from_its_retry_topic(logs: Logs) -> None:
    log = await logs.open()
    await logs.begin(log)
    [delivery] = await claim(log)
    assert await log.release([delivery.lease], delay_ms=300) == [True]
    assert await log.release([delivery.lease], delay_ms=300) == [False]
    again = await claim(log)
    while not again:
        await log.wait(["t"], timeout_ms=100)
        again = await claim(log)
    assert [(one.value, one.attempt, one.lease.offset) for one in again] == [(b"first", 2, delivery.lease.offset)]
    assert await log.accept([again[0].lease], then=[("out", NewRecord(b"next"))]) == [True]
    assert [one.value async for batch in log.read_all("out") for one in batch] == [b"next"]
    assert await log.accept([again[0].lease], then=[("out", NewRecord(b"next"))]) == [False]
    assert (await log.end("out"), await log.topics()) == (1, ["out", "t"])


async def test_a_dead_letter_is_listed_and_brought_back_or_dropped(logs: Logs) -> None:
    log = await logs.open()
    await logs.begin(log)
    [delivery] = await claim(log)
    assert await log.reject(delivery.lease, Diagnosis("E", "text")) == "written"
    assert await log.reject(delivery.lease, Diagnosis("E", "text")) == "already"
    [letter] = await log.dead_letters(group="g")
    assert (letter.value, letter.attempt, letter.diagnosis.error_class) == (b"first", 1, "E")
    assert await log.requeue(letter.dead_letter_id)
    assert not await log.drop(letter.dead_letter_id)
    [again] = await claim(log)
    assert (again.attempt, again.lease.offset) == (1, delivery.lease.offset)
    assert await log.reject(again.lease, Diagnosis("E", "text")) == "written"
    [letter] = await log.dead_letters(has_values=False)
    assert (letter.generation, letter.value) == (1, b"")
    assert await log.drop(letter.dead_letter_id)
    assert not await log.requeue(letter.dead_letter_id)
    assert await log.reclaim(me="me") == 0


async def test_partitions_are_shared_and_each_record_has_one_holder(logs: Logs) -> None:
    first, second = await logs.open(), await logs.open(settle_ms=0)
    await logs.begin(first)
    await first.append("t", [NewRecord(b"%d" % number, key=f"k{number}") for number in range(200)])
    held = await claim(first, limit=50)
    assert await first.accept([one.lease for one in held]) == [True] * 50
    found: list[Delivery] = []
    while not found:
        await second.wait(["t"], timeout_ms=100)
        found = await claim(second, limit=1_000)
    assert not {one.lease.offset for one in found} & {one.lease.offset for one in held}
    assert await second.accept([one.lease for one in found]) == [True] * len(found)


async def test_with_order_by_key_a_retry_holds_back_its_key_alone(logs: Logs) -> None:
    log = await logs.open(ordering="key")
    await logs.begin(log)
    await log.append("t", [NewRecord(b"a1", key="a"), NewRecord(b"b1", key="b"), NewRecord(b"a2", key="a")])
    held = {one.value: one.lease for one in await claim(log)}
    assert held.keys() == {b"first", b"a1", b"b1"}
    await log.release([held[b"a1"]], delay_ms=100)
    await log.accept([held[b"b1"]])
    values: list[bytes] = []
    while not values:
        await log.wait(["t"], timeout_ms=50)
        values = [one.value for one in await claim(log)]
    assert values == [b"a1"]


async def test_publishing_with_a_key_happens_once(logs: Logs) -> None:
    log = await logs.open()
    clock = SystemClock()
    store = MemoryStore(clock)
    inlet = KafkaInlet(store.state, log, store.cache, clock)
    one = Publication(topic="t", record=NewRecord(b"x"), tenant="default", source="s", input_id="i", proposed=ItemId(7))
    once = Once("key", "print", clock.now_ms() + 60_000)
    assert await inlet.publish([one], once=once) == Published((ItemId(7),))
    assert await inlet.publish([one], once=once) == Published((ItemId(7),), is_replay=True)
    assert await inlet.publish([one], once=Once("key", "other", once.until_ms)) == KeyTaken()
    assert await log.end("t") == 1


async def test_revisions_of_one_item_grow_though_a_topic_has_many_partitions(logs: Logs) -> None:
    log = await logs.open()
    store = MemoryStore(SystemClock())
    inlet = KafkaInlet(store.state, log, store.cache, SystemClock())
    for revision in range(6):
        for input_id in "abcd"[: 1 + revision % 4]:
            record = NewRecord(f"{input_id}{revision}".encode())
            await inlet.publish(
                [
                    Publication(
                        topic="t", record=record, tenant="d", source="s", input_id=input_id, proposed=ItemId(revision)
                    )
                ]
            )
    offsets = {one.value: one.offset async for batch in log.read_all("t") for one in batch}
    for input_id in "abcd":
        revisions = sorted(value for value in offsets if value.startswith(input_id.encode()))
        assert [offsets[value] for value in revisions] == sorted(offsets[value] for value in revisions)
