"""The store of a state folder, as every part of the runtime knows it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from gristmill.ports.cache import Cache
from gristmill.ports.clock import Clock
from gristmill.ports.definitions import Definitions
from gristmill.ports.front import Front
from gristmill.ports.log import Log
from gristmill.ports.state import State
from gristmill.ports.upkeep import Upkeep
from gristmill.runtime.spec import GroupSpec

__all__ = ["OpenStore", "Store", "UpkeepStore", "open_sqlite", "open_upkeep"]


class Store(Protocol):
    """Log, state, cache and front that share one place, so that a commit can accept its own record."""

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

    async def close(self) -> None: ...


class UpkeepStore(Protocol):
    """A store as seen by whoever keeps it fit."""

    @property
    def upkeep(self) -> Upkeep: ...

    async def close(self) -> None: ...


OpenStore = Callable[[GroupSpec, Clock, str], Store]
"""Opens the store for an owner name; each process has its own."""


def open_sqlite(spec: GroupSpec, clock: Clock, owner: str) -> Store:
    """Open the embedded store of a state folder.

    Raises:
        ConfigError: the file is no store of ours, or damaged.
        Unavailable: it cannot be opened.
    """
    from gristmill.adapters.sqlite import SqliteStore

    settings = spec.settings.store
    store = SqliteStore.open(spec.folder.store_file, clock=clock, owner=owner, synchronous=settings.synchronous)
    if not settings.history_file:
        return store
    from gristmill.adapters.recording import HistoryRecorder, RecordingStore

    return RecordingStore(store, HistoryRecorder(Path(settings.history_file), process=owner, clock=clock), clock)


def open_upkeep(spec: GroupSpec, clock: Clock, owner: str) -> UpkeepStore:
    """Open the embedded store of a state folder to keep it fit.

    Raises:
        ConfigError: the file is no store of ours, or damaged.
        Unavailable: it cannot be opened.
    """
    from gristmill.adapters.sqlite import SqliteStore

    synchronous = spec.settings.store.synchronous
    return SqliteStore.open(spec.folder.store_file, clock=clock, owner=owner, synchronous=synchronous)
