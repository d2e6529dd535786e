"""Finds owners that died and frees what they held."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from gristmill.adapters.local_host.marks import read_marks, sweep_marks
from gristmill.adapters.local_host.owners import OwnerLock, registered_owners
from gristmill.adapters.sqlite.file.writer import Job, Turn, Writer
from gristmill.adapters.sqlite.log.settling import free_owner
from gristmill.ports.faults import fault

__all__ = ["Reclaim"]

FREE_US = 2_000


class Reclaim:
    """One look at all registered owners. Their locks are held until their leases are free for good."""

    def __init__(self, folder: Path, me: str) -> None:
        self._folder = folder
        self._me = me
        self._dead: dict[str, OwnerLock] = {}

    async def run(self, writer: Writer) -> Counter[str]:
        """Return the number of records per topic that became claimable."""
        try:
            return await writer.do(Job(self._free, FREE_US, idle=self._find, finish=self._tidy))
        finally:
            for lock in self._dead.values():
                lock.release()

    def _find(self, turn: Turn) -> Counter[str] | None:
        for owner in registered_owners(self._folder):
            if owner != self._me and (lock := OwnerLock.try_take_dead(self._folder, owner)) is not None:
                self._dead[owner] = lock
        return None if self._dead else Counter()

    def _free(self, turn: Turn) -> Counter[str]:
        freed: Counter[str] = Counter()
        for owner in self._dead:
            # Records are leased in the name of whoever works on them, so its own marks say all.
            freed.update(free_owner(turn, owner, marked=read_marks(self._folder, owner)))
        return freed

    def _tidy(self, turn: Turn, freed: Counter[str]) -> Counter[str]:
        fault("reclaim.freed")
        for lock in self._dead.values():
            lock.discard()
        sweep_marks(self._folder, set(registered_owners(self._folder)))
        return freed
