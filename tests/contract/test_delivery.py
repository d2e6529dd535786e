"""Changes, deliveries and closed dead letters of the embedded backends."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gristmill.adapters.memory import MemoryStore
from gristmill.adapters.sqlite import SqliteStore
from gristmill.ports.upkeep.closings import Closings
from gristmill.testing.clock import FakeClock
from gristmill.testing.contracts.delivery import DeliveryContract, DeliveryPorts
from gristmill.testing.contracts.upkeep import ClosingContract


class TestMemoryDelivery(DeliveryContract):
    @pytest.fixture
    async def ports(self) -> DeliveryPorts:
        store = MemoryStore(FakeClock())
        return DeliveryPorts(store.state, store.front.facts, store.changes, store.deliveries)


class TestSqliteDelivery(DeliveryContract):
    @pytest.fixture
    async def ports(self, tmp_path: Path) -> AsyncIterator[DeliveryPorts]:
        store = SqliteStore.open(tmp_path / "store.sqlite", clock=FakeClock(), owner="me", synchronous="NORMAL")
        yield DeliveryPorts(store.state, store.front.facts, store.changes, store.deliveries)
        await store.close()


class TestMemoryClosings(ClosingContract):
    @pytest.fixture
    async def closings(self) -> Closings:
        return MemoryStore(FakeClock()).closings


class TestSqliteClosings(ClosingContract):
    @pytest.fixture
    async def closings(self, tmp_path: Path) -> AsyncIterator[Closings]:
        store = SqliteStore.open(tmp_path / "store.sqlite", clock=FakeClock(), owner="me", synchronous="NORMAL")
        yield store.closings
        await store.close()
