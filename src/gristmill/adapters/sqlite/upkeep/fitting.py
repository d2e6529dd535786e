"""Makes a store that comes out of a backup fit to go on: nobody works on it, and nothing is issued twice."""

from __future__ import annotations

import apsw
import msgspec

from gristmill.adapters.packing import pack
from gristmill.adapters.sqlite.file.connection import StoreFile
from gristmill.adapters.sqlite.upkeep.alone import open_alone
from gristmill.domain.upkeep.loss import Loss, skip_ids, skip_numbers, skip_positions

__all__ = ["Fitted", "fit_restored"]

NUMBERED_TABLES = ("dead", "quarantine", "label_fact")
"""Their numbers are seen outside; those of other tables never leave the store."""

# Whoever held a lease is gone with the store that was lost. It was no fault of the record, so its attempt comes back.
FREE_ALL = "UPDATE lease SET owner_id = 0, visible_at_ms = 0, attempt = attempt - 1 WHERE owner_id <> 0"
RAISE_POSITION = "UPDATE tally SET value = value + ? WHERE name = 'position'"
# An event of nothing: whoever was told of a change knows its number, and takes a lower one for older.
RAISE_EVENTS = "INSERT INTO event(event_row, item_id, body) SELECT ifnull(max(event_row), 0) + ?, 0, ? FROM event"
SEGMENTS = "SELECT namespace, day, next FROM id_segment"
WRITE_SEGMENT = "INSERT OR REPLACE INTO id_segment(namespace, day, next) VALUES(?, ?, ?)"
RAISE_NUMBER = "UPDATE sqlite_sequence SET seq = seq + ?2 WHERE name = ?1"
FIRST_NUMBER = "INSERT INTO sqlite_sequence(name, seq) VALUES(?1, ?2)"


class Fitted(msgspec.Struct, frozen=True):
    """What was done; `freed` counts records that somebody was working on when the backup was taken."""

    freed: int


def fit_restored(file: StoreFile, loss: Loss) -> Fitted:
    """Bring a store to the present schema, free all leases and skip what may have been issued since the backup.

    Call it once, before anybody else sees the store.

    Raises:
        ConfigError: not a store, a damaged one, or one of a newer schema.
        Unavailable: the disk is full.
    """
    # It is moved without its log afterwards.
    with open_alone(file) as (connection, _), connection:
        freed = _fit(connection, loss)
    return Fitted(freed)


def _fit(db: apsw.Connection, loss: Loss) -> int:
    db.execute(FREE_ALL)
    freed = db.changes()
    db.execute(RAISE_POSITION, (skip_positions(loss),))
    db.execute(RAISE_EVENTS, (skip_positions(loss), pack(())))
    rows = {str(name): (int(day), int(next_id)) for name, day, next_id in db.execute(SEGMENTS)}
    for name in {*rows, *loss.namespaces}:
        db.execute(WRITE_SEGMENT, (name, *skip_ids(rows.get(name), loss)))
    for table in NUMBERED_TABLES:
        db.execute(RAISE_NUMBER, (table, skip_numbers(loss)))
        if not db.changes():
            db.execute(FIRST_NUMBER, (table, skip_numbers(loss)))
    return freed
