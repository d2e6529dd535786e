"""Publishing, label facts, tokens and lists of items in memory."""

from gristmill.adapters.memory.front.front import MemoryFront

__all__ = ["MemoryFront"]
