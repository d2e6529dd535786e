"""Events of months that are over: they move to files of their own, one a month, which any SQLite reads.

    archive/events-2026-10.sqlite
        event(event_row, number, item_id, run_id, kind, at_ms, body)    body is JSON

An event is in its file, synced, before it leaves the store. Killed in between it is moved again and stands there once.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw
import msgspec

from gristmill.adapters.packing import unpack_events
from gristmill.adapters.sqlite.file.connection import BUSY_MS_MAX
from gristmill.adapters.sqlite.file.errors import translated
from gristmill.adapters.sqlite.file.rows import to_json
from gristmill.adapters.sqlite.file.writer import Turn
from gristmill.adapters.sqlite.upkeep.sweeps.sweep import ROWS_PER_TURN, Moment
from gristmill.domain.run import Event

__all__ = ["EventSweep"]

# Numbers of rows are never used again, so the highest one stays.
OLDEST = """
SELECT event_row, body FROM event WHERE event_row > ? AND event_row < (SELECT max(event_row) FROM event)
ORDER BY event_row LIMIT ?
"""
DELETE = "DELETE FROM event WHERE event_row IN (SELECT value FROM json_each(?))"
TABLE = """
CREATE TABLE IF NOT EXISTS event(event_row INTEGER NOT NULL, number INTEGER NOT NULL, item_id INTEGER NOT NULL,
    run_id TEXT NOT NULL, kind TEXT NOT NULL, at_ms INTEGER NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY(event_row, number)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS event_by_item ON event(item_id);
"""
INSERT = "INSERT OR IGNORE INTO event VALUES(?, ?, ?, ?, ?, ?, ?)"

Row = tuple[int, list[Event]]


class EventSweep:
    """Goes over the events from the oldest on; they lie in the order of commits, so the first young one ends it."""

    def __init__(self) -> None:
        self._place = 0

    def begin(self) -> None:
        """Start over."""
        self._place = 0

    def find(self, db: apsw.Connection, moment: Moment) -> Sequence[Row]:
        """Return rows whose events are all old, of months that are over."""
        if not moment.rules.events_ms:
            return []
        bound_ms = min(moment.now_ms - moment.rules.events_ms, _month_began_ms(moment.now_ms))
        found: list[Row] = []
        for row, body in db.execute(OLDEST, (self._place, ROWS_PER_TURN)):
            events = unpack_events(body)
            if any(event.at_ms >= bound_ms for event in events):
                break
            found.append((row, events))
        if found:
            self._place = found[-1][0]
        return found

    def prepare(self, found: Sequence[Row], moment: Moment) -> None:
        """Write them to the archive."""
        by_month: defaultdict[str, list[tuple[Any, ...]]] = defaultdict(list)
        for row, events in found:
            for number, event in enumerate(events):
                month = datetime.fromtimestamp(event.at_ms / 1000, UTC).strftime("%Y-%m")
                body = msgspec.json.encode(event.body).decode()
                by_month[month].append((row, number, event.item_id, event.run_id, event.kind, event.at_ms, body))
        for month, rows in by_month.items():
            _append(moment.archive / f"events-{month}.sqlite", rows)

    def remove(self, turn: Turn, found: Sequence[Row], moment: Moment) -> Counter[str]:
        """Delete them from the store."""
        turn.db.execute(DELETE, (to_json([row for row, _ in found]),))
        return Counter(event=turn.db.changes())


def _append(path: Path, rows: Sequence[tuple[Any, ...]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with translated(path):
        archive = apsw.Connection(str(path))
        try:
            # A backup may be reading it.
            archive.set_busy_timeout(BUSY_MS_MAX)
            archive.pragma("synchronous", "full")
            with archive:
                archive.execute(TABLE)
                archive.executemany(INSERT, rows)
        finally:
            archive.close()


def _month_began_ms(now_ms: int) -> int:
    now = datetime.fromtimestamp(now_ms / 1000, UTC)
    return round(now.replace(day=1, hour=0, minute=0, second=0, microsecond=0).timestamp() * 1000)
