"""Logs of every backend for tests of Runners."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.kafka import KafkaLog, KafkaSettings
from gristmill.adapters.local_host import new_owner
from gristmill.adapters.redis import RedisLog, RedisServer, RedisTarget
from gristmill.adapters.sqlite import SqliteStore
from gristmill.engine.runner import RunnerSettings
from gristmill.ports.log import Log
from gristmill.ports.state import State
from gristmill.testing.redis_server import RedisProcess
from tests.on_kafka.backends import fresh_prefix

FAST = RunnerSettings(
    lease_ms=3_000,
    delays_ms=(40,),
    swing=0.2,
    dependency_delay_ms=20,
    probe_ms=100,
    drain_ms=2_000,
    lag_interval_ms=500,
    reclaim_interval_ms=500,
)


class Places:
    """One log that is opened again and again, as by several processes."""

    settings: RunnerSettings = FAST

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._open: list[Any] = []

    async def log(self) -> Log:
        """Open the log as one more process."""
        raise NotImplementedError

    async def state(self) -> State:
        """Open the state as one more process; the log is apart from it."""
        store = SqliteStore.open(
            self.folder / "state.db", clock=SystemClock(), owner=new_owner(), is_log_apart=True, synchronous="NORMAL"
        )
        self._open.append(store)
        return store.state

    async def close(self) -> None:
        for one in self._open:
            await one.close()


class SqlitePlaces(Places):
    async def log(self) -> Log:
        return (await self.store()).log

    async def store(self) -> SqliteStore:
        store = SqliteStore.open(self.folder / "store.db", clock=SystemClock(), owner=new_owner(), synchronous="NORMAL")
        self._open.append(store)
        return store


class RedisPlaces(Places):
    def __init__(self, folder: Path, process: RedisProcess) -> None:
        super().__init__(folder)
        self.process = process

    async def log(self) -> Log:
        return self.log_at(self.process.url)

    def log_at(self, url: str) -> RedisLog:
        log = RedisLog(RedisServer(RedisTarget(url=url)), SystemClock())
        self._open.append(log)
        return log


class KafkaPlaces(Places):
    settings = msgspec.structs.replace(FAST, delays_ms=(1_000,))

    def __init__(self, folder: Path, brokers: str) -> None:
        super().__init__(folder)
        self.kafka = KafkaSettings(
            brokers=brokers,
            prefix=fresh_prefix(),
            partition_count=2,
            tiers_ms=(1_000,),
            session_timeout_ms=6_000,
            drain_ms=0,
        )

    async def log(self) -> Log:
        log = KafkaLog(self.kafka, SystemClock())
        self._open.append(log)
        return log
