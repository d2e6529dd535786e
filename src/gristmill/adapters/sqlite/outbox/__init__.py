"""The outbox of a log that is apart from the file, and which of its records brought a row first."""

from gristmill.adapters.sqlite.outbox.origins import SqliteOrigins
from gristmill.adapters.sqlite.outbox.outbox import SqliteOutbox

__all__ = ["SqliteOrigins", "SqliteOutbox"]
