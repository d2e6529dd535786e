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
from tests.messages.stories import (
    a_flood_of_bulk,
    a_receiver_that_is_down,
    one_signal_for_five_plans,
    ordered_through_kills,
)


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


@pytest.fixture(params=["memory", "sqlite"])
def ground(request: pytest.FixtureRequest) -> Ground:
    found: Ground = request.getfixturevalue(request.param)
    return found


async def test_AC_MS_001_keys_keep_their_order_through_kills_in_memory(memory: Ground) -> None:
    await ordered_through_kills(memory, keys=200, per_key=50, kills=2, within_s=100)


async def test_AC_MS_001_keys_keep_their_order_through_kills_in_sqlite(sqlite: Ground) -> None:
    await ordered_through_kills(sqlite, keys=200, per_key=50, kills=2, within_s=100)


async def test_AC_MS_002_a_further_try_calls_only_the_plans_that_failed_in_memory(memory: Ground) -> None:
    await one_signal_for_five_plans(memory, order="key")


async def test_AC_MS_002_a_further_try_calls_only_the_plans_that_failed_in_sqlite(sqlite: Ground) -> None:
    await one_signal_for_five_plans(sqlite, order="none")


async def test_AC_MS_003_a_flood_of_bulk_does_not_delay_what_is_urgent(ground: Ground) -> None:
    await a_flood_of_bulk(ground, count=50_000, for_s=1.5)


async def test_AC_MS_004_a_receiver_that_is_back_is_noticed_soon(sqlite: Ground) -> None:
    """In real time, with waits of milliseconds and an outage of seconds; the whole hour is played in memory."""
    await a_receiver_that_is_down(sqlite, count=100)
