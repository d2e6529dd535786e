"""The origins port over one SQLite file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gristmill.adapters.sqlite.file.rows import to_json, write_rows
from gristmill.adapters.sqlite.file.writer import Job, Turn, Writer
from gristmill.ports.clock import Clock

__all__ = ["SqliteOrigins"]

KEPT_MS = 7 * 86_400_000
"""As long as topics keep records: a second copy is not read later than that."""

SETTLE_US = 6

INSERT = "INSERT OR IGNORE INTO origin(outbox_id, grp, position, until_ms) SELECT column1, ?1, column2, ?2 FROM {rows}"
FIND = """
SELECT outbox_id, position FROM origin WHERE grp = ?1 AND outbox_id IN (SELECT value FROM json_each(?2))
"""


class SqliteOrigins:
    """See `ports.outbox.Origins`. Processes that open the same file share it."""

    def __init__(self, writer: Writer, clock: Clock) -> None:
        self._writer = writer
        self._clock = clock

    async def settle(self, topic: str, group: str, brought: Mapping[str, int]) -> dict[str, int]:
        """Return for each outbox id the offset that brought it first; ids are unique over topics."""
        until_ms = self._clock.now_ms() + KEPT_MS
        values: list[Any] = []
        for outbox_id, offset in brought.items():
            values += (outbox_id, offset)

        def run(turn: Turn) -> dict[str, int]:
            write_rows(turn.db, INSERT, values, width=2, constants=(group, until_ms))
            found: list[Any] = turn.db.execute(FIND, (group, to_json(list(brought)))).fetchall()
            return dict(found)

        # A power failure that undoes it undoes the commits of whoever got the record, too.
        return await self._writer.do(Job(run, SETTLE_US * len(brought), is_durable=False))
