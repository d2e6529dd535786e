"""What the Kafka log does when work is long, brokers go away, records vanish, or a process falls silent."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator

import msgspec
import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.kafka import KafkaLog, KafkaSettings
from gristmill.adapters.kafka.reading import TopicReader
from gristmill.domain.errors import ConfigError, Unavailable
from gristmill.domain.log import Delivery, NewRecord
from gristmill.testing.cut_proxy import CutProxy
from gristmill.testing.kafka_broker import KafkaBroker
from tests.on_kafka.backends import fresh_prefix, require_kafka

pytestmark = pytest.mark.cluster

WORK_S = float(os.environ.get("GRISTMILL_TEST_LONG_WORK_S", "8"))
POLL_INTERVAL_MS = 6_000
HEALED_WITHIN_S = 5.0
LEASE_MS = 600_000


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[KafkaBroker, CutProxy]]:
    """A broker that is reached through a proxy alone."""
    require_kafka()
    broker = KafkaBroker(tmp_path_factory.mktemp("kafka"))
    proxy = CutProxy(broker.port)
    broker.advertise(proxy.port)
    broker.start()
    yield broker, proxy
    proxy.close()
    broker.stop()


@pytest.fixture
def settings(broker: tuple[KafkaBroker, CutProxy]) -> KafkaSettings:
    return KafkaSettings(
        brokers=f"127.0.0.1:{broker[1].port}",
        prefix=fresh_prefix(),
        partition_count=1,
        session_timeout_ms=POLL_INTERVAL_MS,
        poll_interval_ms_max=POLL_INTERVAL_MS,
        timeout_ms=4_000,
        settle_ms=20_000,
        drain_ms=0,
    )


async def claim(log: KafkaLog, *, limit: int = 100) -> list[Delivery]:
    return await log.claim("t", "g", owner="me", limit=limit, lease_ms=LEASE_MS)


async def until_claimed(log: KafkaLog, value: bytes) -> float:
    """Append and claim until a record comes through; return how long that took."""
    began = time.monotonic()
    while True:
        try:
            await log.append("t", [NewRecord(value)])
            found = await claim(log)
            await log.accept([one.lease for one in found])
            if value in [one.value for one in found]:
                return time.monotonic() - began
        except Unavailable:
            await asyncio.sleep(0.05)


async def until_some(log: KafkaLog) -> None:
    """Claim and accept what there is, once there is something."""
    found: list[Delivery] = []
    while not found:
        await log.wait(["t"], timeout_ms=100)
        found = await claim(log)
    await log.accept([one.lease for one in found])


async def until_told(log: KafkaLog) -> float:
    """Ask for the end of the topic until there is an answer; return how long that took, at most half a minute."""
    began = time.monotonic()
    while time.monotonic() - began < 30:
        try:
            assert await log.end("t") > 0
            break
        except Unavailable:
            await asyncio.sleep(0.1)
    return time.monotonic() - began


async def claim_for_ever(log: KafkaLog) -> None:
    """Claim as a group does that has nothing to do."""
    while True:
        await claim(log)
        await log.wait(["t"], timeout_ms=200)


async def test_work_longer_than_the_interval_of_polls_is_done_once(settings: KafkaSettings) -> None:
    log = KafkaLog(settings, SystemClock())
    await log.append("t", [NewRecord(b"long")])
    [delivery] = await claim(log)
    await asyncio.sleep(WORK_S)
    assert await claim(log) == []
    assert await log.accept([delivery.lease]) == [True]
    await log.close()
    again = KafkaLog(settings, SystemClock())
    assert await claim(again) == []
    await again.close()


async def test_cut_connections_heal(settings: KafkaSettings, broker: tuple[KafkaBroker, CutProxy]) -> None:
    log = KafkaLog(settings, SystemClock())
    await until_claimed(log, b"before")
    for number in range(5):
        broker[1].cut()
        assert await until_claimed(log, b"after %d" % number) < HEALED_WITHIN_S
    await log.close()


async def test_the_lag_is_told_again_soon_after_a_cut(
    settings: KafkaSettings, broker: tuple[KafkaBroker, CutProxy]
) -> None:
    log, onlooker = KafkaLog(settings, SystemClock()), KafkaLog(settings, SystemClock())
    await until_claimed(log, b"before")
    await log.close()
    assert (await onlooker.lag("t", "g")).undelivered == 0
    broker[1].cut()
    began = time.monotonic()
    while time.monotonic() - began < HEALED_WITHIN_S:
        try:
            assert (await onlooker.lag("t", "g")).undelivered == 0
            break
        except Unavailable:
            await asyncio.sleep(0.05)
    assert time.monotonic() - began < HEALED_WITHIN_S
    await onlooker.close()


async def test_brokers_that_fall_silent_are_not_taken_for_brokers_without_records(
    settings: KafkaSettings, broker: tuple[KafkaBroker, CutProxy]
) -> None:
    log = KafkaLog(settings, SystemClock())
    await until_claimed(log, b"before")
    broker[1].stall(is_stalled=True)
    try:
        with pytest.raises(Unavailable):
            await asyncio.wait_for(claim_for_ever(log), 30)
    finally:
        broker[1].stall(is_stalled=False)
    assert await until_claimed(log, b"after") < 30
    await log.close()


async def test_a_broker_that_comes_back_is_found_again(
    settings: KafkaSettings, broker: tuple[KafkaBroker, CutProxy]
) -> None:
    log, onlooker = KafkaLog(settings, SystemClock()), KafkaLog(settings, SystemClock())
    await until_claimed(log, b"before")
    assert await onlooker.end("t") == 1
    broker[0].kill()
    with pytest.raises(Unavailable):
        await log.append("t", [NewRecord(b"nobody is there")])
    broker[0].start()
    assert await until_claimed(log, b"after") < 30
    assert await until_told(onlooker) < 30
    await log.close()
    await onlooker.close()


async def test_records_that_vanish_unread_are_counted_and_never_jumped_over(settings: KafkaSettings) -> None:
    log = KafkaLog(settings, SystemClock())
    await log.append("t", [NewRecord(b"%d" % number) for number in range(10)])
    found = await claim(log, limit=2)
    await log.accept([one.lease for one in found])
    await log.close()
    admin = AdminClient({"bootstrap.servers": settings.brokers})
    for future in admin.delete_records([TopicPartition(f"{settings.prefix}t", 0, 7)]).values():
        future.result(10)
    log = KafkaLog(settings, SystemClock())
    assert [one.value for one in await claim(log)] == [b"7", b"8", b"9"]
    lag = await log.lag("t", "g")
    assert (lag.lost, lag.in_flight) == (5, 3)
    await log.close()


async def test_records_that_vanish_while_they_wait_to_be_fetched_are_counted_too(settings: KafkaSettings) -> None:
    log = KafkaLog(msgspec.structs.replace(settings, fetched_max=5, settle_ms=0), SystemClock())
    for _ in range(10):
        await log.append("t", [NewRecord(b"x" * 1_000)] * 1_000)
    await until_some(log)
    await asyncio.sleep(0.5)
    admin = AdminClient({"bootstrap.servers": settings.brokers})
    for future in admin.delete_records([TopicPartition(f"{settings.prefix}t", 0, 9_990)]).values():
        future.result(10)
    while not (lag := await log.lag("t", "g")).lost:
        await until_some(log)
    assert 0 < lag.lost < 10_000
    while lag.undelivered:
        await until_some(log)
        lag = await log.lag("t", "g")
    await log.close()


async def test_running_work_may_end_before_its_partition_moves(settings: KafkaSettings) -> None:
    patient = msgspec.structs.replace(settings, partition_count=2, drain_ms=10_000)
    hasty = msgspec.structs.replace(patient, settle_ms=0)
    first, second = KafkaLog(patient, SystemClock()), KafkaLog(hasty, SystemClock())
    await first.append("t", [NewRecord(b"%d" % number, key=f"k{number}") for number in range(40)])
    held = await claim(first)
    assert len(held) == 40
    await claim(second)
    await asyncio.sleep(2)
    assert await first.accept([one.lease for one in held]) == [True] * 40
    await first.append("t", [NewRecord(b"%d" % number, key=f"k{number}") for number in range(40)])
    found: list[Delivery] = []
    while not found:
        await second.wait(["t"], timeout_ms=100)
        found = await claim(second)
    assert {one.attempt for one in found} == {1}
    await first.close()
    await second.close()


async def test_brokers_are_looked_at_before_they_are_used(settings: KafkaSettings) -> None:
    log = KafkaLog(settings, SystemClock())
    await log.start()
    await log.append("t", [NewRecord(b"x")])
    await log.close()
    nowhere = KafkaLog(KafkaSettings(brokers="127.0.0.1:1", timeout_ms=1_000), SystemClock())
    with pytest.raises(Unavailable):
        await nowhere.start()
    await nowhere.close()
    greedy = KafkaLog(msgspec.structs.replace(settings, replication_factor=3), SystemClock())
    with pytest.raises(ConfigError):
        await greedy.append("other", [NewRecord(b"x")])
    await greedy.close()


async def test_a_reading_that_has_ended_asks_the_brokers_for_nothing_more(settings: KafkaSettings) -> None:
    log, reader = KafkaLog(settings, SystemClock()), TopicReader(settings)
    await log.append("t", [NewRecord(b"x")])
    batches = [batch async for batch in reader.read(f"{settings.prefix}t", starts={0: 0}, ends={0: 1})]
    assert [[message.value() for message in batch] for batch in batches] == [[b"x"]]
    assert reader._consumer is not None
    assert reader._consumer.assignment() == []
    await reader.close()
    await log.close()
