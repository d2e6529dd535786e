"""The Kafka log holds the contracts of the log, but for what it does not claim; with a real broker."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from gristmill.testing.clock import FakeClock
from gristmill.testing.contracts import (
    Backend,
    InletContract,
    LogContract,
    OutletContract,
    OwnershipContract,
    SeekingContract,
)
from tests.contract.desk.mending import MendingContract
from tests.on_kafka.backends import KafkaBackends, require_kafka, start_broker

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    require_kafka()
    address, broker = start_broker(tmp_path_factory.mktemp("kafka"))
    yield address
    if broker is not None:
        broker.stop()


class _Kafka:
    partition_count = 1

    @pytest.fixture
    async def backend(self, clock: FakeClock, brokers: str, tmp_path: Path) -> AsyncIterator[Backend]:
        backends = KafkaBackends(brokers, clock, tmp_path, partition_count=self.partition_count)
        yield await backends.open()
        await backends.end()


class TestKafkaLog(_Kafka, LogContract):
    pass


class TestKafkaMending(_Kafka, MendingContract):
    pass


class TestKafkaOwnership(_Kafka, OwnershipContract):
    pass


class TestKafkaSeeking(_Kafka, SeekingContract):
    pass


class TestKafkaInlet(_Kafka, InletContract):
    pass


class TestKafkaOutlet(_Kafka, OutletContract):
    pass


class TestKafkaLogOfManyPartitions(_Kafka, LogContract):
    partition_count = 3
