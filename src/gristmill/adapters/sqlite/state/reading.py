"""Reads of items, runs, events and quarantine; each is one snapshot."""

from __future__ import annotations

from collections.abc import Sequence

import apsw
import msgspec

from gristmill.adapters.packing import unpack_events, unpack_item, unpack_run
from gristmill.adapters.sqlite.file.rows import to_json
from gristmill.adapters.sqlite.state.packed import STATUSES
from gristmill.domain.commit import StoredQuarantine, StoredRun
from gristmill.domain.ids import ItemId, RunId
from gristmill.domain.item import Item
from gristmill.domain.run import Event

__all__ = [
    "read_counts",
    "read_ended",
    "read_events",
    "read_item",
    "read_quarantined",
    "read_runs",
    "read_runs_between",
]

NO_COUNTS = ("position", "aged_ms")
"""Of a tally: the last position of the log, and how far sweeps have come."""

ENDED = """
SELECT lower(hex(run_id)) FROM run INDEXED BY run_open
WHERE is_open AND run_id IN (SELECT unhex(value) FROM json_each(?1)) AND status <> ?2
"""
RUNS = """
SELECT body, lower(hex(run_id)), generator.name, item_id, position, status
FROM run JOIN generator USING(generator_id) WHERE {} ORDER BY position
"""
RUNS_OF_ITEMS = RUNS.format("item_id IN (SELECT value FROM json_each(?))")
RUNS_BETWEEN = RUNS.format("generator.name = ?1 AND position > ?2 AND position <= ?3")
LAST_POSITION = """
SELECT position FROM run JOIN generator USING(generator_id) WHERE generator.name = ?1 AND position > ?2
ORDER BY position LIMIT 1 OFFSET ?3 - 1
"""
QUARANTINED = """
SELECT quarantine_id, source, generator, position, raw, reason, violations, at_ms, source_revision FROM quarantine
WHERE position > ?2 AND ?1 IN ('', generator) ORDER BY position, quarantine_id LIMIT ?3
"""

_texts_decoder = msgspec.msgpack.Decoder(tuple[str, ...])
FAILED = STATUSES.index("failed")
NO_BOUND = (1 << 63) - 1


def read_ended(db: apsw.Connection, run_ids: Sequence[RunId]) -> set[RunId]:
    """Return those open runs that are stored with a status other than `failed`."""
    return {RunId(run_id) for (run_id,) in db.execute(ENDED, (to_json(list(run_ids)), FAILED))}


def read_item(db: apsw.Connection, item_id: ItemId) -> Item | None:
    """Return the newest revision of an item."""
    body = db.execute("SELECT body FROM item WHERE item_id = ?", (item_id,)).get
    return None if body is None else unpack_item(body)


def read_runs(db: apsw.Connection, item_ids: Sequence[ItemId]) -> dict[ItemId, list[StoredRun]]:
    """Return all runs of items by position, then plan; items without any are absent."""
    found: dict[ItemId, list[StoredRun]] = {}
    for run in _stored_runs(db, RUNS_OF_ITEMS, (to_json(list(item_ids)),)):
        found.setdefault(run.item_id, []).append(run)
    return found


def read_runs_between(db: apsw.Connection, generator: str, *, after: int, limit: int) -> list[StoredRun]:
    """Return runs of a generator by position, then plan; the last position is complete."""
    last = db.execute(LAST_POSITION, (generator, after, limit)).get
    return _stored_runs(db, RUNS_BETWEEN, (generator, after, NO_BOUND if last is None else last))


def read_events(db: apsw.Connection, item_id: ItemId) -> list[Event]:
    """Return the events of an item in the order they were committed."""
    rows = db.execute("SELECT body FROM event WHERE item_id = ? ORDER BY event_row", (item_id,))
    return [event for (body,) in rows for event in unpack_events(body)]


def read_quarantined(db: apsw.Connection, generator: str, *, after: int, limit: int) -> list[StoredQuarantine]:
    """Return quarantined records by position, optionally of one generator."""
    return [
        StoredQuarantine(
            quarantine_id=row[0],
            source=row[1],
            generator=row[2],
            position=row[3],
            raw=row[4],
            reason=row[5],
            violations=_texts_decoder.decode(row[6]),
            at_ms=row[7],
            source_revision=row[8],
        )
        for row in db.execute(QUARANTINED, (generator, after, limit))
    ]


def read_counts(db: apsw.Connection) -> dict[str, int]:
    """Return row counts; a status that no run has is left out."""
    counts = {"items": 0, "runs": 0, "quarantined": 0}
    counts.update((name, value) for name, value in db.execute("SELECT name, value FROM tally") if value)
    for name in NO_COUNTS:
        counts.pop(name, None)
    return counts


def _stored_runs(db: apsw.Connection, sql: str, bindings: tuple[object, ...]) -> list[StoredRun]:
    runs = [
        unpack_run(
            body,
            run_id=RunId(run_id),
            generator=generator,
            item_id=ItemId(item_id),
            position=position,
            status=STATUSES[status],
        )
        for body, run_id, generator, item_id, position, status in db.execute(sql, bindings)
    ]
    return sorted(runs, key=lambda run: (run.position, run.plan))
