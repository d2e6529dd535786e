"""The state in a SQLite file: guarded commits, and reads apart."""

from gristmill.adapters.sqlite.state.state import SqliteState

__all__ = ["SqliteState"]
