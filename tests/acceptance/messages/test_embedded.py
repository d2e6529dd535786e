"""Routed records on the backends that need no server of their own kind."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.memory import MemoryStore
from gristmill.adapters.sqlite import SqliteStore
from gristmill.ports.cache import Cache
from gristmill.ports.log import Log
from tests.messages.consumers import Ground
from tests.messages.stories import ordered_through_kills


@pytest.fixture
def memory() -> Ground:
    store = MemoryStore(SystemClock())

    async def open_log() -> tuple[Log, Cache]:
        return store.log, store.cache

    async def close(log: Log) -> None:
        pass

    return Ground(open_log, close)


@pytest.fixture
async def sqlite(tmp_path: Path) -> AsyncIterator[Ground]:
    """One file; each process has its own connection."""
    stores: dict[int, SqliteStore] = {}

    async def open_log() -> tuple[Log, Cache]:
        owner = f"store-{len(stores)}"
        store = SqliteStore.open(tmp_path / "store.sqlite", clock=SystemClock(), owner=owner, synchronous="NORMAL")
        stores[id(store.log)] = store
        return store.log, store.cache

    async def close(log: Log) -> None:
        await stores[id(log)].close()

    yield Ground(open_log, close)
    for store in stores.values():
        await store.close()


async def test_AC_MS_001_keys_keep_their_order_through_kills_in_memory(memory: Ground) -> None:
    await ordered_through_kills(memory, keys=200, per_key=50, kills=4, kill_every_s=1.0, within_s=60)


async def test_AC_MS_001_keys_keep_their_order_through_kills_in_sqlite(sqlite: Ground) -> None:
    await ordered_through_kills(sqlite, keys=200, per_key=10, kills=4, kill_every_s=1.0, within_s=60)
