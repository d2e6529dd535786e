"""The front port over one SQLite file."""

from __future__ import annotations

from gristmill.adapters.sqlite.file.reader import Reader
from gristmill.adapters.sqlite.file.writer import Writer
from gristmill.adapters.sqlite.front.facts import SqliteLabelFacts
from gristmill.adapters.sqlite.front.inlet import SqliteInlet
from gristmill.adapters.sqlite.front.listing import SqliteListing
from gristmill.adapters.sqlite.front.tokens import SqliteTokens
from gristmill.adapters.sqlite.front.traffic import SqliteTraffic
from gristmill.adapters.sqlite.log import SqliteLog
from gristmill.adapters.sqlite.outbox import SqliteOutbox
from gristmill.ports.clock import Clock

__all__ = ["SqliteFront"]


class SqliteFront:
    """See `ports.front.Front`. Processes that open the same file share it.

    Args:
        outbox: takes what is published where the log is apart from this file.
    """

    def __init__(
        self, writer: Writer, reader: Reader, log: SqliteLog, clock: Clock, *, outbox: SqliteOutbox | None = None
    ) -> None:
        self.inlet = SqliteInlet(writer, log, clock, outbox=outbox)
        self.facts = SqliteLabelFacts(writer, reader)
        self.tokens = SqliteTokens(writer, reader)
        self.listing = SqliteListing(reader)
        self.traffic = SqliteTraffic(reader)
