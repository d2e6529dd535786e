"""The Kafka log against the brokers that librdkafka plays inside this process: no server, nothing on a disk.

They make no topics on request, describe nothing and always give four partitions; the contract runs with a real broker.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest
from confluent_kafka import Producer

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.kafka import KafkaLog, KafkaOutlet, KafkaSettings
from gristmill.adapters.kafka.core.tiers import Ordering
from gristmill.adapters.sqlite import SqliteStore
from gristmill.domain.errors import Unavailable
from gristmill.domain.log import Delivery, Diagnosis, NewRecord
from gristmill.domain.outbox import NewOutboxRow, OutboxRow, SendOutcome, Unsent
from gristmill.ports.outbox import Origins
from tests.apart.outboxes import open_state, publication, pump_of

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

    async def open(
        self,
        *,
        settle_ms: int = 20_000,
        ordering: Ordering = "none",
        drain_ms: int = 0,
        origins: Origins | None = None,
    ) -> KafkaLog:
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
        log = KafkaLog(settings, SystemClock(), origins=origins)
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


@pytest.fixture
async def state(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = open_state(tmp_path / "store.sqlite", SystemClock())
    yield store
    await store.close()


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


async def test_revisions_of_one_item_grow_though_a_topic_has_many_partitions(logs: Logs, state: SqliteStore) -> None:
    log = await logs.open()
    pump = pump_of(state.outbox, KafkaOutlet(log), SystemClock())
    for revision in range(6):
        texts = [f"{input_id}{revision}" for input_id in "abcd"[: 1 + revision % 4]]
        await state.front.inlet.publish([publication(text, revision, input_id=text[0]) for text in texts])
    await pump.run_once()
    offsets = {one.value: one.offset async for batch in log.read_all("t") for one in batch}
    for input_id in "abcd":
        revisions = sorted(value for value in offsets if value.startswith(input_id.encode()))
        assert [offsets[value] for value in revisions] == sorted(offsets[value] for value in revisions)


async def test_a_row_that_was_sent_twice_is_delivered_once_to_each_group(logs: Logs, state: SqliteStore) -> None:
    log = await logs.open(origins=state.origins)
    await logs.begin(log)
    await state.outbox.add([NewOutboxRow("t", NewRecord(b"twice", key="k")), NewOutboxRow("t", NewRecord(b"once"))])
    sent: list[OutboxRow] = []

    async def note(rows: Sequence[OutboxRow]) -> list[SendOutcome]:
        sent.extend(rows)
        return [Unsent()] * len(rows)

    await state.outbox.dispatch(note)
    outlet = KafkaOutlet(log)
    first, _ = await outlet.append("t", sent)
    [second] = await outlet.append("t", sent[:1])
    assert first != second
    for group in ("g", "h"):
        values: list[bytes] = []
        while len(values) < 3:
            await log.wait(["t"], timeout_ms=50)
            found = await log.claim("t", group, owner="me", limit=10, lease_ms=LEASE_MS)
            values += [one.value for one in found]
            assert "gm-dedup" not in {name for one in found for name in one.headers}
            assert await log.accept([one.lease for one in found]) == [True] * len(found)
        assert sorted(values) == [b"first", b"once", b"twice"]
    assert (await log.lag("t", "g")).undelivered == 0


class FailsOnce:
    """Origins that cannot be asked the first time."""

    def __init__(self, origins: Origins) -> None:
        self._origins = origins
        self.failures = 0

    async def settle(self, topic: str, group: str, brought: Mapping[str, int]) -> dict[str, int]:
        if not self.failures:
            self.failures += 1
            raise Unavailable("state")
        return await self._origins.settle(topic, group, brought)


async def test_a_claim_hands_nothing_out_while_nobody_can_tell_doubles_apart(logs: Logs, state: SqliteStore) -> None:
    origins = FailsOnce(state.origins)
    log = await logs.open(origins=origins)
    await logs.begin(log)
    await state.outbox.add([NewOutboxRow("t", NewRecord(b"sent"))])
    await pump_of(state.outbox, KafkaOutlet(log), SystemClock()).run_once()
    found: dict[bytes, int] = {}
    while set(found) != {b"first", b"sent"}:
        await log.wait(["t"], timeout_ms=50)
        with suppress(Unavailable):
            found.update({one.value: one.attempt for one in await claim(log)})
    assert found == {b"first": 1, b"sent": 1}
    assert origins.failures == 1


async def test_what_lies_between_begin_and_end_of_a_partition_is_present(logs: Logs) -> None:
    log = await logs.open()
    offsets = await log.append("t", [NewRecord(b"x")])
    outlet = KafkaOutlet(log)
    assert await outlet.present("t", {*offsets, offsets[0] + 1024, offsets[0] + 9}) == set(offsets)
