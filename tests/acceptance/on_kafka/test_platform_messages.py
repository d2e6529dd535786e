"""Routed records on Kafka: eight partitions, each key in the order of its partition, four members of a group."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.kafka import KafkaLog, KafkaSettings
from gristmill.adapters.memory import MemoryStore
from gristmill.engine.messages.core.routes import Order
from gristmill.ports.cache import Cache
from gristmill.ports.log import Log
from tests.messages.consumers import Ground
from tests.messages.stories import (
    a_flood_of_bulk,
    a_receiver_that_is_down,
    one_signal_for_five_plans,
    ordered_through_kills,
)
from tests.on_kafka.backends import fresh_prefix, require_kafka, start_broker

pytestmark = pytest.mark.cluster

PARTITIONS = 8


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    require_kafka()
    address, broker = start_broker(tmp_path_factory.mktemp("kafka"))
    yield address
    if broker is not None:
        broker.stop()


@pytest.fixture
async def kafka(brokers: str) -> AsyncIterator[Ground]:
    settings = KafkaSettings(
        brokers=brokers,
        prefix=fresh_prefix(),
        partition_count=PARTITIONS,
        ordering="key",
        session_timeout_ms=6_000,
        drain_ms=0,
    )
    store, logs = MemoryStore(SystemClock()), list[KafkaLog]()

    async def open_log() -> tuple[Log, Cache]:
        logs.append(KafkaLog(settings, SystemClock()))
        await logs[-1].start()
        return logs[-1], store.cache

    async def close(log: Log) -> None:
        await next(one for one in logs if one is log).close()

    yield Ground(open_log, close)
    for log in logs:
        await log.close()


async def test_AC_MS_001_keys_keep_their_order_through_kills_on_kafka(kafka: Ground) -> None:
    """With 10 records a key instead of 50."""
    await ordered_through_kills(kafka, keys=200, per_key=10, kills=2, within_s=100)


@pytest.mark.parametrize("order", ["key", "none"])
async def test_AC_MS_002_a_further_try_calls_only_the_plans_that_failed_on_kafka(kafka: Ground, order: Order) -> None:
    await one_signal_for_five_plans(kafka, order=order)


async def test_AC_MS_003_a_flood_of_bulk_does_not_delay_what_is_urgent_on_kafka(kafka: Ground) -> None:
    """With 20,000 records of bulk instead of 50,000."""
    await a_flood_of_bulk(kafka, count=20_000, for_s=1.5)


async def test_AC_MS_004_a_receiver_that_is_back_is_noticed_soon_on_kafka(kafka: Ground) -> None:
    """In real time, with waits of milliseconds; the whole hour is played in memory."""
    await a_receiver_that_is_down(kafka, count=50)
