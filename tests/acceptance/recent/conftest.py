"""The logs that feeding and serving of recent items are proved over."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.memory import MemoryStore
from gristmill.adapters.redis import RedisLog, RedisServer, RedisTarget
from gristmill.adapters.sqlite import SqliteStore
from gristmill.ports.log import Log
from gristmill.testing.redis_server import RedisProcess
from tests.redis_servers import program_or_skip


@pytest.fixture(scope="session")
def valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisProcess]:
    process = RedisProcess(tmp_path_factory.mktemp("valkey"), program=program_or_skip("valkey"))
    process.start()
    yield process
    process.stop()


@pytest.fixture(params=["memory", "sqlite", "redis"])
async def log(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Log]:
    """A log in real time."""
    if request.param == "memory":
        yield MemoryStore(SystemClock()).log
    elif request.param == "sqlite":
        store = SqliteStore.open(tmp_path / "store.sqlite", clock=SystemClock(), owner="me", synchronous="NORMAL")
        yield store.log
        await store.close()
    else:
        process: RedisProcess = request.getfixturevalue("valkey")
        process.say("FLUSHALL")
        redis = RedisLog(RedisServer(RedisTarget(url=process.url)), SystemClock())
        yield redis
        await redis.close()
