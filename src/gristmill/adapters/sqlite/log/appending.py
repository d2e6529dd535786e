"""Writes records under the next positions of the log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gristmill.adapters.sqlite.file.rows import Slab, to_json
from gristmill.adapters.sqlite.file.writer import Turn
from gristmill.domain.log import NewRecord

__all__ = ["append"]

SLAB_BYTES_MAX = 32 * 1024 * 1024

INSERT_PLAIN = """
INSERT INTO log(position, topic_id, due_at_ms, appended_at_ms, key, headers, value)
SELECT ?1 + key, ?2, 0, ?3, '', NULL, substr(?5, value ->> 0, value ->> 1) FROM jsonb_each(?4)
"""
INSERT_FULL = """
INSERT INTO log(position, topic_id, due_at_ms, appended_at_ms, key, headers, value)
SELECT ?1 + key, ?2, iif(value ->> 2 > ?3, value ->> 2, 0), ?3, value ->> 3, value ->> 4,
    substr(?5, value ->> 0, value ->> 1)
FROM jsonb_each(?4)
"""


def append(turn: Turn, topic: str, records: Sequence[NewRecord], *, now_ms: int) -> range:
    """Write records and return their positions."""
    topic_id = turn.names.topic(topic)
    count = len(records)
    sql = "UPDATE tally SET value = value + ? WHERE name = 'position' RETURNING value"
    first: int = turn.db.execute(sql, (count,)).get - count + 1
    turn.db.execute("UPDATE topic SET record_count = record_count + ? WHERE topic_id = ?", (count, topic_id))
    start = first
    for part in _parts(records):
        rows, slab, is_plain = _lay_out(part)
        insert = INSERT_PLAIN if is_plain else INSERT_FULL
        turn.db.execute(insert, (start, topic_id, now_ms, rows, slab))
        start += len(part)
    return range(first, first + count)


def _parts(records: Sequence[NewRecord]) -> Iterator[Sequence[NewRecord]]:
    """Cut records where a slab would grow too long for one value."""
    start, size = 0, 0
    for index, record in enumerate(records):
        if size and size + len(record.value) > SLAB_BYTES_MAX:
            yield records[start:index]
            start, size = index, 0
        size += len(record.value)
    yield records[start:]


def _lay_out(records: Sequence[NewRecord]) -> tuple[str, bytes, bool]:
    slab = Slab()
    if not any(record.key or record.headers or record.due_at_ms for record in records):
        return to_json([slab.add(record.value) for record in records]), slab.join(), True
    rows = [(*slab.add(record.value), record.due_at_ms, record.key, record.headers or None) for record in records]
    return to_json(rows), slab.join(), False
