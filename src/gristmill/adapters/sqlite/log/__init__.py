"""The log in a SQLite file: what each verb writes in its turn."""

from gristmill.adapters.sqlite.log.log import SqliteLog

__all__ = ["SqliteLog"]
