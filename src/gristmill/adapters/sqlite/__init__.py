"""Log, state and cache in one SQLite file, for one host and any number of its processes.

Use it on a local disk only. `file` says how the file is shared, `log` and `state` what is written to it.
"""

from gristmill.adapters.sqlite.cache import SqliteCache
from gristmill.adapters.sqlite.log import SqliteLog
from gristmill.adapters.sqlite.state import SqliteState
from gristmill.adapters.sqlite.store import SqliteStore

__all__ = ["SqliteCache", "SqliteLog", "SqliteState", "SqliteStore"]
