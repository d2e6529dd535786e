"""Marks on a Redis server hold the contract of every cache."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from gristmill.adapters.memory import MemoryStore
from gristmill.adapters.redis import RedisCache, RedisServer, RedisTarget
from gristmill.testing.clock import FakeClock
from gristmill.testing.contracts import Backend, CacheContract
from gristmill.testing.redis_server import RedisProcess
from tests.redis_servers import program_or_skip


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisProcess]:
    process = RedisProcess(tmp_path_factory.mktemp("valkey"), program=program_or_skip("valkey"))
    process.start()
    yield process
    process.stop()


class TestRedisCache(CacheContract):
    @pytest.fixture
    async def backend(self, process: RedisProcess, clock: FakeClock) -> AsyncIterator[Backend]:
        process.say("FLUSHALL")
        server, store = RedisServer(RedisTarget(url=process.url)), MemoryStore(clock)
        yield Backend(store.log, store.state, RedisCache(server, clock, is_server_time=False), clock)
        await server.close()
