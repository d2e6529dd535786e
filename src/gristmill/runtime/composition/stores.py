"""The store of a state folder, as every part of the runtime knows it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from gristmill.ports.cache import Cache
from gristmill.ports.clock import Clock
from gristmill.ports.definitions import Definitions
from gristmill.ports.delivery import Changes, Deliveries
from gristmill.ports.front import Front
from gristmill.ports.log import Log
from gristmill.ports.state import State
from gristmill.ports.upkeep import Upkeep
from gristmill.ports.upkeep.closings import Closings
from gristmill.runtime.spec import GroupSpec

if TYPE_CHECKING:
    from gristmill.runtime.log_apart import ApartStore

__all__ = [
    "OpenStore",
    "Store",
    "UpkeepStore",
    "check_log",
    "open_apart",
    "open_sqlite",
    "open_store",
    "open_upkeep",
]


class Store(Protocol):
    """Log, state, cache and front; where they share one place a commit can accept its own record."""

    @property
    def log(self) -> Log: ...

    @property
    def state(self) -> State: ...

    @property
    def cache(self) -> Cache: ...

    @property
    def front(self) -> Front: ...

    @property
    def definitions(self) -> Definitions: ...

    @property
    def changes(self) -> Changes: ...

    @property
    def deliveries(self) -> Deliveries: ...

    @property
    def closings(self) -> Closings: ...

    async def close(self) -> None: ...


class UpkeepStore(Protocol):
    """A store as seen by whoever keeps it fit."""

    @property
    def upkeep(self) -> Upkeep: ...

    async def close(self) -> None: ...


OpenStore = Callable[[GroupSpec, Clock, str], Store]
"""Opens the store for an owner name; each process has its own."""


async def check_log(spec: GroupSpec) -> None:
    """Look whether the log can be used, where it is on a server.

    Raises:
        ConfigError: what is set for it makes no sense, or the server is not fit for it; the setting is named.
        Unavailable: it cannot be reached.
    """
    from gristmill.runtime.retention.topics import read_lossy

    read_lossy(spec.settings.log)
    if spec.settings.log.backend == "redis":
        from gristmill.runtime.log_apart import check_server

        await check_server(spec.settings.log)
    elif spec.settings.log.backend == "kafka":
        from gristmill.runtime.log_kafka import check_brokers

        await check_brokers(spec.settings.log)


def open_store(spec: GroupSpec, clock: Clock, owner: str) -> Store:
    """Open the store of a state folder with the log that is set.

    Raises:
        ConfigError: the file is no store of ours, or damaged, or the settings of the log are wrong.
        Unavailable: it cannot be opened.
    """
    if spec.settings.log.backend == "sqlite":
        return open_sqlite(spec, clock, owner)
    return _recorded(open_apart(spec, clock, owner), spec, clock, owner)


def open_apart(spec: GroupSpec, clock: Clock, owner: str) -> ApartStore:
    """Open the state of a folder and the log on a server that is set; the server is asked nothing yet.

    Raises:
        ConfigError, Unavailable: as `open_store` does.
    """
    if spec.settings.log.backend == "kafka":
        from gristmill.runtime.log_kafka import open_kafka

        return open_kafka(spec, clock, owner)
    from gristmill.runtime.log_apart import open_redis

    return open_redis(spec, clock, owner)


def open_sqlite(spec: GroupSpec, clock: Clock, owner: str) -> Store:
    """Open the embedded store of a state folder.

    Raises:
        ConfigError: the file is no store of ours, or damaged.
        Unavailable: it cannot be opened.
    """
    from gristmill.adapters.sqlite import SqliteStore

    synchronous = spec.settings.store.synchronous
    store = SqliteStore.open(spec.folder.store_file, clock=clock, owner=owner, synchronous=synchronous)
    return _recorded(store, spec, clock, owner)


def open_upkeep(spec: GroupSpec, clock: Clock, owner: str) -> UpkeepStore:
    """Open the embedded store of a state folder to keep it fit.

    Raises:
        ConfigError: the file is no store of ours, or damaged.
        Unavailable: it cannot be opened.
    """
    from gristmill.adapters.sqlite import SqliteStore

    synchronous = spec.settings.store.synchronous
    return SqliteStore.open(spec.folder.store_file, clock=clock, owner=owner, synchronous=synchronous)


def _recorded(store: Store, spec: GroupSpec, clock: Clock, owner: str) -> Store:
    """Have what happens in a store written down where a test wants it."""
    history_file = spec.settings.store.history_file
    if not history_file:
        return store
    from gristmill.adapters.recording import HistoryRecorder, RecordingStore

    return RecordingStore(store, HistoryRecorder(Path(history_file), process=owner, clock=clock), clock)
