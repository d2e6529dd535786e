"""Statements over rows of the outbox, and how they are packed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from gristmill.domain.ids import ItemId
from gristmill.domain.log import NewRecord
from gristmill.domain.outbox import NewOutboxRow, OutboxRow

__all__ = ["CONFIRM", "CONFIRMED", "DUE", "INSERT", "REFUSE", "STANDING", "UNSETTLED", "pack_row", "unpack_row"]

COLUMNS = """
o.outbox_id, o.topic, o.key, o.headers, o.due_at_ms, o.payload, o.item_id, o.generation, o.created_at_ms, o.attempts,
o.position, o.last_error
"""
INSERT = """
INSERT INTO outbox(stage, next_at_ms, created_at_ms, outbox_id, topic, key, headers, due_at_ms, payload, item_id,
    generation)
VALUES(0, $1, $1, $2, $3, $4, $5, $6, $7, $8, $9)
"""
# What was committed earlier with the same key goes first, also where another process is sending it.
DUE = f"""
SELECT {COLUMNS} FROM outbox o WHERE o.stage = 0 AND o.next_at_ms <= $1 AND (o.key = '' OR NOT EXISTS(
    SELECT 1 FROM outbox e WHERE e.stage = 0 AND e.key <> '' AND e.topic = o.topic AND e.key = o.key
        AND e.outbox_row < o.outbox_row))
ORDER BY o.next_at_ms, o.outbox_row LIMIT $2 FOR UPDATE OF o SKIP LOCKED
"""
CONFIRM = """
UPDATE outbox SET stage = 1, next_at_ms = $1, dispatched_at_ms = $1, position = $2, last_error = '' WHERE outbox_id = $3
"""
REFUSE = "UPDATE outbox SET attempts = attempts + 1, next_at_ms = $1, last_error = $2 WHERE outbox_id = $3"
CONFIRMED = f"""
SELECT {COLUMNS} FROM outbox o WHERE o.stage = 1 ORDER BY o.next_at_ms, o.outbox_row LIMIT $1
FOR UPDATE OF o SKIP LOCKED
"""
# The second column after a row: somebody works on it, so it is not late. A newer publication takes the watch over.
UNSETTLED = f"""
SELECT {COLUMNS},
    EXISTS(SELECT 1 FROM run r WHERE r.key = o.item_id::text AND r.status <> '' AND r.position >= o.position)
    OR EXISTS(SELECT 1 FROM outbox n WHERE n.item_id = o.item_id AND n.outbox_row > o.outbox_row) AS is_settled,
    EXISTS(SELECT 1 FROM run r WHERE r.key = o.item_id::text AND r.status = '' AND r.lease_until_ms > $1) AS is_live
FROM outbox o WHERE o.stage = 2 AND o.next_at_ms <= $1 ORDER BY o.next_at_ms, o.outbox_row LIMIT $2
FOR UPDATE OF o SKIP LOCKED
"""
STANDING = """
SELECT count(*) AS pending, min(created_at_ms) AS oldest_at_ms,
    (SELECT last_error FROM outbox WHERE stage = 0 AND last_error <> '' ORDER BY created_at_ms LIMIT 1) AS last_error
FROM outbox WHERE stage = 0
"""

_encode = msgspec.json.Encoder().encode
_headers_decoder = msgspec.json.Decoder(dict[str, str])


def pack_row(row: NewOutboxRow, outbox_id: str, *, now_ms: int, generation: int) -> tuple[Any, ...]:
    """Return the values of INSERT."""
    record = row.record
    headers = _encode(record.headers).decode() if record.headers else None
    return now_ms, outbox_id, row.topic, record.key, headers, record.due_at_ms, record.value, row.item_id, generation


def unpack_row(columns: Sequence[Any]) -> OutboxRow:
    """Read what COLUMNS returned."""
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
