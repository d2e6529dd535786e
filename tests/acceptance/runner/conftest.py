"""Every log as a Runner meets it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from gristmill.ports.log import Log
from gristmill.testing.redis_server import RedisProcess
from tests.on_kafka.backends import require_kafka, start_broker
from tests.redis_servers import program_or_skip
from tests.runners.places import KafkaPlaces, Places, RedisPlaces, SqlitePlaces

KAFKA = pytest.param("kafka", marks=pytest.mark.cluster)
EVERYWHERE = ("sqlite", "redis", KAFKA)


@pytest.fixture(scope="package")
def redis_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisProcess]:
    process = RedisProcess(tmp_path_factory.mktemp("valkey"), program=program_or_skip("valkey"))
    process.start()
    yield process
    process.stop()


@pytest.fixture(scope="package")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    require_kafka()
    address, broker = start_broker(tmp_path_factory.mktemp("kafka"))
    yield address
    if broker is not None:
        broker.stop()


@pytest.fixture(params=EVERYWHERE)
async def places(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Places]:
    match request.param:
        case "sqlite":
            places: Places = SqlitePlaces(tmp_path)
        case "redis":
            process: RedisProcess = request.getfixturevalue("redis_process")
            process.say("FLUSHALL")
            places = RedisPlaces(tmp_path, process)
        case _:
            places = KafkaPlaces(tmp_path, request.getfixturevalue("brokers"))
    yield places
    await places.close()


@pytest.fixture
async def log(places: Places) -> Log:
    return await places.log()
