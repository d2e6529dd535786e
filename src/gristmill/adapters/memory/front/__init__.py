"""Publishing, label facts, tokens, lists of items and closed letters in memory."""

from gristmill.adapters.memory.front.closings import MemoryClosings
from gristmill.adapters.memory.front.front import MemoryFront

__all__ = ["MemoryClosings", "MemoryFront"]
