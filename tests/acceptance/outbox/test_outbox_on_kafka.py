"""Acceptance checks of the outbox with a log on Kafka; they need a broker."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from gristmill.adapters.kafka import KafkaLog, KafkaOutlet, KafkaSettings
from gristmill.adapters.kafka.admin import TopicAdmin
from gristmill.adapters.sqlite import SqliteStore
from gristmill.testing.clock import FakeClock
from gristmill.testing.kafka_broker import KafkaBroker
from tests.acceptance.outbox.checks import ApartLog, OutboxChecks
from tests.on_kafka.backends import fresh_prefix, require_kafka

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """One of our own, since it is taken away."""
    require_kafka()
    broker = KafkaBroker(tmp_path_factory.mktemp("kafka"))
    broker.start()
    yield broker
    broker.stop()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


class TestOutboxOnKafka(OutboxChecks):
    @pytest.fixture
    async def apart(self, broker: KafkaBroker, state: SqliteStore, clock: FakeClock) -> AsyncIterator[ApartLog]:
        settings = KafkaSettings(
            brokers=broker.address,
            prefix=fresh_prefix(),
            partition_count=1,
            retention_ms=-1,  # The clock of the tests stands in the past.
            settle_ms=30_000,
            drain_ms=0,
            timeout_ms=3_000,
        )
        log = KafkaLog(settings, clock, origins=state.origins)

        def open_group() -> KafkaLog:
            return KafkaLog(settings, clock, origins=state.origins)

        async def down() -> None:
            await asyncio.to_thread(broker.stop)

        async def up() -> None:
            await asyncio.to_thread(broker.start)

        async def lose() -> None:
            admin = TopicAdmin(settings)
            topic = f"{settings.prefix}t"
            await admin.delete_before(topic, dict(enumerate(await admin.ends(topic))))

        yield ApartLog(log, KafkaOutlet(log), open_group, down, up, lose)
        await log.close()
