"""Log, state and cache in the memory of one process: for tests, demos and short-lived work. Nothing survives it."""

from gristmill.adapters.memory.cache import MemoryCache
from gristmill.adapters.memory.log import MemoryLog
from gristmill.adapters.memory.state import MemoryState
from gristmill.adapters.memory.store import MemoryStore

__all__ = ["MemoryCache", "MemoryLog", "MemoryState", "MemoryStore"]
