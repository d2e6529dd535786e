"""Publishing, label facts, tokens, lists of items and closed letters over the same file as log and state."""

from gristmill.adapters.sqlite.front.closings import SqliteClosings
from gristmill.adapters.sqlite.front.front import SqliteFront

__all__ = ["SqliteClosings", "SqliteFront"]
