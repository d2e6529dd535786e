"""The SQLite backend holds every contract."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gristmill.adapters.sqlite import SqliteStore
from gristmill.ports.definitions import Definitions
from gristmill.testing.clock import FakeClock
from gristmill.testing.contracts import (
    ApartContract,
    Backend,
    CacheContract,
    CommitContract,
    DefinitionContract,
    FrontContract,
    IdentityContract,
    InletContract,
    KeyOrderContract,
    LogContract,
    OwnershipContract,
    SeekingContract,
    SharingContract,
    StateContract,
)
from tests.contract.backends import SqliteBackends
from tests.contract.desk.mending import MendingContract


class _Sqlite:
    @pytest.fixture
    async def backend(self, clock: FakeClock, tmp_path: Path) -> AsyncIterator[Backend]:
        backends = SqliteBackends(tmp_path / "store.sqlite", clock)
        yield await backends.open()
        await backends.close()


class TestSqliteLog(_Sqlite, LogContract):
    pass


class TestSqliteKeyOrder(_Sqlite, KeyOrderContract):
    pass


class TestSqliteMending(_Sqlite, MendingContract):
    pass


class TestSqliteOwnership(_Sqlite, OwnershipContract):
    pass


class TestSqliteSeeking(_Sqlite, SeekingContract):
    pass


class TestSqliteState(_Sqlite, StateContract):
    pass


class TestSqliteCommit(_Sqlite, CommitContract):
    pass


class TestSqliteApart(ApartContract):
    @pytest.fixture
    async def backend(self, clock: FakeClock, tmp_path: Path) -> AsyncIterator[Backend]:
        path = tmp_path / "store.sqlite"
        store = SqliteStore.open(path, clock=clock, owner="me", synchronous="NORMAL", is_log_apart=True)
        yield Backend(store.log, store.state, store.cache, clock)
        await store.close()


class TestSqliteSharing(_Sqlite, SharingContract):
    pass


class TestSqliteCache(_Sqlite, CacheContract):
    pass


class TestSqliteIdentity(_Sqlite, IdentityContract):
    pass


class TestSqliteFront(_Sqlite, FrontContract):
    pass


class TestSqliteInlet(_Sqlite, InletContract):
    pass


class TestSqliteDefinitions(DefinitionContract):
    @pytest.fixture
    async def definitions(self, tmp_path: Path) -> AsyncIterator[Definitions]:
        store = SqliteStore.open(tmp_path / "store.sqlite", clock=FakeClock(), owner="me", synchronous="NORMAL")
        yield store.definitions
        await store.close()
