"""The log on Redis holds every contract: over the Valkey of a wheel always, over Debian's Redis where it is there."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from gristmill.adapters.local_host import OwnerLock, RunningMarks
from gristmill.adapters.redis import RedisCache, RedisLog, RedisOutlet, RedisServer, RedisTarget
from gristmill.ports.cache import Cache
from gristmill.ports.front import Inlet
from gristmill.testing.clock import FakeClock
from gristmill.testing.contracts import (
    Backend,
    CacheContract,
    InletContract,
    KeyOrderContract,
    LogContract,
    OutletContract,
    OwnershipContract,
    SeekingContract,
)
from gristmill.testing.redis_server import RedisProcess
from tests.apart.outboxes import SentInlet, open_state, pump_of
from tests.contract.desk.mending import MendingContract
from tests.redis_servers import program_or_skip

SERVERS = (pytest.param("valkey"), pytest.param("redis", marks=pytest.mark.cluster))


class ApartFront:
    """Only what the contracts of an inlet ask for."""

    def __init__(self, inlet: Inlet) -> None:
        self.inlet = inlet


class RedisBackends:
    """Opens a log on one server again and again; the last one is to be closed."""

    def __init__(self, process: RedisProcess, clock: FakeClock, folder: Path) -> None:
        self._process = process
        self._clock = clock
        self._owners_folder = folder / "owners"
        self._store = open_state(folder / "store.sqlite", clock)
        self.log: RedisLog | None = None

    async def open(self) -> Backend:
        await self.close()
        server = RedisServer(RedisTarget(url=self._process.url))
        log = self.log = RedisLog(server, self._clock, owners_folder=self._owners_folder, is_server_time=False)
        store = self._store
        outlet = RedisOutlet(log, server)
        pump = pump_of(store.outbox, outlet, self._clock)
        front: Any = ApartFront(SentInlet(store.front.inlet, pump))
        return Backend(
            log,
            store.state,
            store.cache,
            self._clock,
            front,
            outlet,
            kill_owner=self._kill_owner,
            reopen=self._reopen,
        )

    async def close(self) -> None:
        if self.log is not None:
            await self.log.close()

    async def end(self) -> None:
        await self.close()
        await self._store.close()

    async def _reopen(self) -> Backend:
        self._process.kill()
        self._process.start()
        return await self.open()

    async def _kill_owner(self, owner: str, marked: frozenset[int] | None) -> None:
        OwnerLock.take(self._owners_folder, owner).release()
        if marked is not None:
            marks = RunningMarks(self._owners_folder, owner)
            for position in marked:
                marks.set(position)
            marks.close()


@pytest.fixture(scope="module", params=SERVERS)
def process(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisProcess]:
    process = RedisProcess(tmp_path_factory.mktemp(request.param), program=program_or_skip(request.param))
    process.start()
    yield process
    process.stop()


class _Redis:
    @pytest.fixture
    async def backend(self, process: RedisProcess, clock: FakeClock, tmp_path: Path) -> AsyncIterator[Backend]:
        process.say("FLUSHALL")
        backends = RedisBackends(process, clock, tmp_path)
        yield await backends.open()
        await backends.end()


class TestRedisLog(_Redis, LogContract):
    pass


class TestRedisKeyOrder(_Redis, KeyOrderContract):
    pass


class TestRedisMending(_Redis, MendingContract):
    pass


class TestRedisOwnership(_Redis, OwnershipContract):
    pass


class TestRedisSeeking(_Redis, SeekingContract):
    pass


class TestRedisInlet(_Redis, InletContract):
    pass


class TestRedisOutlet(_Redis, OutletContract):
    pass


class TestRedisCache(_Redis, CacheContract):
    @pytest.fixture
    async def cache(self, backend: Backend, process: RedisProcess, clock: FakeClock) -> AsyncIterator[Cache]:
        server = RedisServer(RedisTarget(url=process.url))
        yield RedisCache(server, clock, is_server_time=False)
        await server.close()
