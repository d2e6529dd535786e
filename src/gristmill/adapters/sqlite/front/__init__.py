"""Publishing, label facts, tokens and lists of items over the same file as log and state."""

from gristmill.adapters.sqlite.front.front import SqliteFront

__all__ = ["SqliteFront"]
