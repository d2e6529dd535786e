"""The embedded backends as the contracts want them."""

from __future__ import annotations

from pathlib import Path

from gristmill.adapters.local_host import OwnerLock, RunningMarks
from gristmill.adapters.memory import MemoryStore
from gristmill.adapters.sqlite import SqliteStore
from gristmill.testing.clock import FakeClock
from gristmill.testing.contracts import Backend


def memory_backend(clock: FakeClock) -> Backend:
    store = MemoryStore(clock)

    async def kill_owner(owner: str, marked: frozenset[int] | None) -> None:
        store.mark_dead(owner, marked=marked)

    return Backend(store.log, store.state, store.cache, clock, store.front, kill_owner=kill_owner)


class SqliteBackends:
    """Opens one file again and again; the last one is to be closed."""

    def __init__(self, path: Path, clock: FakeClock) -> None:
        self._path = path
        self._clock = clock
        self.store: SqliteStore | None = None

    async def open(self) -> Backend:
        await self.close()
        store = self.store = SqliteStore.open(self._path, clock=self._clock, owner="store", synchronous="NORMAL")

        async def kill_owner(owner: str, marked: frozenset[int] | None) -> None:
            OwnerLock.take(store.owners_folder, owner).release()
            if marked is not None:
                marks = RunningMarks(store.owners_folder, owner)
                for position in marked:
                    marks.set(position)
                marks.close()

        return Backend(
            store.log, store.state, store.cache, self._clock, store.front, kill_owner=kill_owner, reopen=self.open
        )

    async def close(self) -> None:
        if self.store is not None:
            await self.store.close()
