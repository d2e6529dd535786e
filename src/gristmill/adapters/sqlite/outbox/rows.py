"""Reads and writes rows of the outbox.

A row goes through three stages: 0 it is to be sent, 1 it is confirmed and the log still remembers it, 2 it is only
watched until what it publishes has come to something. `next_at_ms` is when it is due at its stage.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import apsw
import msgspec

from gristmill.adapters.sqlite.file.rows import to_json, write_rows
from gristmill.adapters.sqlite.file.writer import Turn
from gristmill.domain.ids import ItemId
from gristmill.domain.log import NewRecord
from gristmill.domain.outbox import (
    NOISE_BYTES,
    NewOutboxRow,
    OutboxRow,
    OutboxStanding,
    Refused,
    SendOutcome,
    Sent,
    compute_outbox_id,
    decide_look_ms,
)

__all__ = [
    "add_rows",
    "confirm",
    "delete",
    "read_confirmed",
    "read_due",
    "read_standing",
    "read_unsettled",
    "watch",
]

COLUMNS = """
outbox_id, topic, key, headers, due_at_ms, payload, item_id, generation, created_at_ms, attempts, position, last_error
"""
INSERT = """
INSERT INTO outbox(stage, next_at_ms, created_at_ms, outbox_id, topic, key, headers, due_at_ms, payload, item_id,
    generation)
SELECT 0, ?1, ?1, * FROM {rows}
"""
# What was committed earlier with the same key goes first, whoever is sending it.
DUE = f"""
SELECT {COLUMNS} FROM outbox o WHERE stage = 0 AND next_at_ms <= ?1 AND (key = '' OR NOT EXISTS(
    SELECT 1 FROM outbox e WHERE e.stage = 0 AND e.key <> '' AND e.topic = o.topic AND e.key = o.key
        AND e.outbox_row < o.outbox_row))
ORDER BY next_at_ms, outbox_row LIMIT ?2
"""
CONFIRM = """
UPDATE outbox SET stage = 1, next_at_ms = ?1, dispatched_at_ms = ?1, position = ?2, last_error = ''
WHERE outbox_id = ?3 AND stage = 0
"""
REFUSE = """
UPDATE outbox SET attempts = attempts + 1, next_at_ms = ?1, last_error = ?2 WHERE outbox_id = ?3 AND stage = 0
"""
CONFIRMED = f"SELECT {COLUMNS} FROM outbox WHERE stage = 1 ORDER BY next_at_ms, outbox_row LIMIT ?1"
DELETE = "DELETE FROM outbox WHERE outbox_id IN (SELECT value FROM json_each(?1))"
DELETE_PLAIN = f"{DELETE} AND item_id IS NULL"
WATCH = "UPDATE outbox SET stage = 2, next_at_ms = ?1 WHERE outbox_id = ?2"
# A record that came in twice was worked on where it stood first. A newer publication of the item takes the watch over.
UNSETTLED = f"""
SELECT {COLUMNS},
    EXISTS(SELECT 1 FROM run r WHERE r.item_id = o.item_id AND r.position >= ifnull(
        (SELECT min(g.position) FROM origin g WHERE g.outbox_id = o.outbox_id), o.position))
    OR EXISTS(SELECT 1 FROM quarantine q WHERE q.position = o.position AND q.raw = o.payload)
    OR EXISTS(SELECT 1 FROM outbox n WHERE n.item_id = o.item_id AND n.outbox_row > o.outbox_row)
FROM outbox o WHERE stage = 2 AND next_at_ms <= ?1 ORDER BY next_at_ms, outbox_row LIMIT ?2
"""
STANDING = "SELECT count(*), min(created_at_ms) FROM outbox WHERE stage = 0"
LAST_ERROR = "SELECT last_error FROM outbox WHERE stage = 0 AND last_error <> '' ORDER BY created_at_ms LIMIT 1"

_encode = msgspec.json.Encoder().encode
_headers_decoder = msgspec.json.Decoder(dict[str, str])


def add_rows(
    turn: Turn, rows: Sequence[NewOutboxRow], *, now_ms: int, generations: Sequence[int] | None = None
) -> list[str]:
    """Write rows that are due at once and return their ids."""
    noise = os.urandom(NOISE_BYTES * len(rows))
    ids: list[str] = []
    values: list[Any] = []
    for index, row in enumerate(rows):
        start = NOISE_BYTES * index
        ids.append(compute_outbox_id(now_ms, noise[start : start + NOISE_BYTES]))
        record, generation = row.record, generations[index] if generations else 0
        headers = _encode(record.headers).decode() if record.headers else None
        values += (ids[-1], row.topic, record.key, headers, record.due_at_ms, record.value, row.item_id, generation)
    write_rows(turn.db, INSERT, values, width=8, constants=(now_ms,))
    return ids


def read_due(db: apsw.Connection, *, now_ms: int, limit: int) -> list[OutboxRow]:
    """Return rows that may be sent now, the longest due first."""
    return [_unpack(row) for row in db.execute(DUE, (now_ms, limit))]


def confirm(turn: Turn, rows: Sequence[OutboxRow], outcomes: Sequence[SendOutcome], *, now_ms: int) -> int:
    """Write down what became of rows and return how many were sent or refused."""
    sent = [
        (now_ms, outcome.position, row.outbox_id)
        for row, outcome in zip(rows, outcomes, strict=True)
        if isinstance(outcome, Sent)
    ]
    refused = [
        (outcome.next_at_ms, outcome.error, row.outbox_id)
        for row, outcome in zip(rows, outcomes, strict=True)
        if isinstance(outcome, Refused)
    ]
    turn.db.executemany(CONFIRM, sent)
    turn.db.executemany(REFUSE, refused)
    return len(sent) + len(refused)


def read_confirmed(db: apsw.Connection, *, limit: int) -> list[OutboxRow]:
    """Return rows that are confirmed and that the log still remembers."""
    return [_unpack(row) for row in db.execute(CONFIRMED, (limit,))]


def watch(turn: Turn, rows: Sequence[OutboxRow], *, now_ms: int) -> None:
    """Put off the next look at publications, or begin to look at them; let go of rows that are none."""
    due = [
        (now_ms + decide_look_ms(max(0, now_ms - row.created_at_ms)), row.outbox_id)
        for row in rows
        if row.item_id is not None
    ]
    turn.db.execute(DELETE_PLAIN, (to_json([row.outbox_id for row in rows]),))
    turn.db.executemany(WATCH, due)


def read_unsettled(db: apsw.Connection, *, now_ms: int, limit: int) -> tuple[list[OutboxRow], list[OutboxRow]]:
    """Return the publications that are due to be looked at: those that came to something, and the others."""
    settled: list[OutboxRow] = []
    others: list[OutboxRow] = []
    for *columns, is_settled in db.execute(UNSETTLED, (now_ms, limit)):
        (settled if is_settled else others).append(_unpack(columns))
    return settled, others


def delete(turn: Turn, rows: Iterable[OutboxRow]) -> int:
    """Let go of rows and return how many were there."""
    turn.db.execute(DELETE, (to_json([row.outbox_id for row in rows]),))
    return turn.db.changes()


def read_standing(db: apsw.Connection) -> OutboxStanding:
    """Return how much waits to be sent."""
    counted: Any = db.execute(STANDING).get
    pending, oldest_at_ms = counted
    last_error = (db.execute(LAST_ERROR).get or "") if pending else ""
    return OutboxStanding(pending, oldest_at_ms, last_error)


def _unpack(columns: Sequence[Any]) -> OutboxRow:
    outbox_id, topic, key, headers, due_at_ms, value, item_id, generation, created, attempts, position, error = columns
    return OutboxRow(
        outbox_id=outbox_id,
        topic=topic,
        record=NewRecord(value, key, _headers_decoder.decode(headers) if headers else {}, due_at_ms),
        item_id=None if item_id is None else ItemId(item_id),
        generation=generation,
        created_at_ms=created,
        attempts=attempts,
        position=position,
        last_error=error,
    )
