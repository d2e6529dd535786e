"""The memory backend holds every contract."""

import pytest

from gristmill.adapters.memory import MemoryStore
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
from tests.contract.backends import memory_backend
from tests.contract.desk.mending import MendingContract


class _Memory:
    @pytest.fixture
    async def backend(self, clock: FakeClock) -> Backend:
        return memory_backend(clock)


class TestMemoryLog(_Memory, LogContract):
    pass


class TestMemoryKeyOrder(_Memory, KeyOrderContract):
    pass


class TestMemoryMending(_Memory, MendingContract):
    pass


class TestMemoryOwnership(_Memory, OwnershipContract):
    pass


class TestMemorySeeking(_Memory, SeekingContract):
    pass


class TestMemoryState(_Memory, StateContract):
    pass


class TestMemoryCommit(_Memory, CommitContract):
    pass


class TestMemoryApart(ApartContract):
    @pytest.fixture
    async def backend(self, clock: FakeClock) -> Backend:
        store = MemoryStore(clock, is_log_apart=True)
        return Backend(store.log, store.state, store.cache, clock)


class TestMemorySharing(_Memory, SharingContract):
    pass


class TestMemoryCache(_Memory, CacheContract):
    pass


class TestMemoryIdentity(_Memory, IdentityContract):
    pass


class TestMemoryFront(_Memory, FrontContract):
    pass


class TestMemoryInlet(_Memory, InletContract):
    pass


class TestMemoryDefinitions(DefinitionContract):
    @pytest.fixture
    async def definitions(self) -> Definitions:
        return MemoryStore(FakeClock()).definitions
