"""Changes and deliveries over one SQLite file."""

from gristmill.adapters.sqlite.delivery.changes import SqliteChanges
from gristmill.adapters.sqlite.delivery.deliveries import SqliteDeliveries

__all__ = ["SqliteChanges", "SqliteDeliveries"]
