"""Writes records under the next positions of the log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from gristmill.adapters.sqlite.file.rows import write_rows
from gristmill.adapters.sqlite.file.writer import Turn
from gristmill.domain.log import NewRecord

__all__ = ["append"]

PART_BYTES_MAX = 32 * 1024 * 1024
"""What one statement holds in memory a second time."""

NEXT_POSITIONS = "UPDATE tally SET value = value + ? WHERE name = 'position' RETURNING value"
COUNT = "UPDATE topic SET record_count = record_count + ? WHERE topic_id = ?"
INSERT_PLAIN = """
INSERT INTO log(position, topic_id, due_at_ms, appended_at_ms, key, headers, value)
SELECT column1, ?1, 0, ?2, '', NULL, column2 FROM {rows}
"""
INSERT_FULL = """
INSERT INTO log(position, topic_id, due_at_ms, appended_at_ms, key, headers, value)
SELECT column1, ?1, column2, ?2, column3, column4, column5 FROM {rows}
"""

_encode = msgspec.json.Encoder().encode


def append(turn: Turn, topic: str, records: Sequence[NewRecord], *, now_ms: int) -> range:
    """Write records and return their positions."""
    topic_id = turn.names.topic(topic)
    count = len(records)
    first: int = turn.db.execute(NEXT_POSITIONS, (count,)).get - count + 1
    turn.db.execute(COUNT, (count, topic_id))
    position = first
    for part in _parts(records):
        if any([record.key or record.headers or record.due_at_ms for record in part]):
            values = _lay_out(part, position, now_ms=now_ms)
            write_rows(turn.db, INSERT_FULL, values, width=5, constants=(topic_id, now_ms))
        else:
            plain: list[Any] = []
            for place, record in enumerate(part, position):
                plain += (place, record.value)
            write_rows(turn.db, INSERT_PLAIN, plain, width=2, constants=(topic_id, now_ms))
        position += len(part)
    return range(first, first + count)


def _parts(records: Sequence[NewRecord]) -> Iterator[Sequence[NewRecord]]:
    """Cut records where a part would take too much memory."""
    start, size = 0, 0
    for index, record in enumerate(records):
        if size and size + len(record.value) > PART_BYTES_MAX:
            yield records[start:index]
            start, size = index, 0
        size += len(record.value)
    yield records[start:]


def _lay_out(records: Sequence[NewRecord], position: int, *, now_ms: int) -> list[Any]:
    values: list[Any] = []
    for place, record in enumerate(records, position):
        due_at_ms = record.due_at_ms if record.due_at_ms > now_ms else 0
        headers = _encode(record.headers).decode() if record.headers else None
        values += (place, due_at_ms, record.key, headers, record.value)
    return values
