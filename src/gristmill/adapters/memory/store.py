"""One store: its log, state and cache see the same data, so a commit can accept its own record."""

from __future__ import annotations

from gristmill.adapters.memory.cache import MemoryCache
from gristmill.adapters.memory.definitions import MemoryDefinitions
from gristmill.adapters.memory.delivery import MemoryChanges, MemoryDeliveries
from gristmill.adapters.memory.front import MemoryClosings, MemoryFront
from gristmill.adapters.memory.log import MemoryLog
from gristmill.adapters.memory.state import MemoryState
from gristmill.ports.clock import Clock

__all__ = ["MemoryStore"]


class MemoryStore:
    """Log, state and cache that share one process memory; use it from one event loop.

    Args:
        is_log_apart: the state is used with another log than this one.
    """

    def __init__(self, clock: Clock, *, is_log_apart: bool = False) -> None:
        self.log = MemoryLog(clock)
        self.state = MemoryState(self.log.ledger, is_log_apart=is_log_apart)
        self.cache = MemoryCache(clock)
        self.front = MemoryFront(self.log, self.state, clock)
        self.closings = MemoryClosings()
        self.definitions = MemoryDefinitions()
        self.changes = MemoryChanges(self.state, self.front.facts)
        self.deliveries = MemoryDeliveries()

    def mark_dead(self, owner: str, *, marked: frozenset[int] | None = None) -> None:
        """Say that an owner died, as the next `reclaim` will find out.

        Args:
            marked: offsets that were being worked on; only they keep their attempt. None: all keep it.
        """
        self.log.mark_dead(owner, marked=marked)

    async def close(self) -> None:
        """Nothing to give back; here so that every store is closed alike."""
