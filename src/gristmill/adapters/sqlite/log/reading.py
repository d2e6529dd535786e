"""Looks at topics without leases: lag, broadcast reading, and trimming what nobody needs any more."""

from __future__ import annotations

import apsw
import msgspec

from gristmill.adapters.sqlite.file.writer import Turn
from gristmill.domain.log import Lag, StoredRecord

__all__ = [
    "compute_lag",
    "count_records",
    "count_trimmed",
    "has_open_before",
    "list_topics",
    "read_batch",
    "trim_some",
]

BATCH_RECORDS = 500
BATCH_BYTES_MAX = 4 * 1024 * 1024
TRIM_RECORDS_PER_TURN = 1_000

TOPIC = "SELECT topic_id, record_count, trimmed_count FROM topic WHERE name = ?"
GROUP = "SELECT grp_id, cursor, passed FROM grp WHERE topic_id = ? AND name = ?"
DELAYED = "SELECT count(*) FROM log INDEXED BY log_delayed WHERE topic_id = ? AND position > ? AND due_at_ms > 0"
HELD = "SELECT count(*), total(owner_id <> 0 AND visible_at_ms > ?2), min(position) FROM lease WHERE grp_id = ?1"
NEXT_FRESH = "SELECT min(position) FROM log WHERE topic_id = ? AND position > ?"
APPENDED_AT = "SELECT appended_at_ms FROM log WHERE position = ?"
LOST = "SELECT ifnull((SELECT value FROM tally WHERE name = 'lost:' || ?), 0)"
DEAD = "SELECT count(*) FROM dead INDEXED BY dead_open WHERE grp_id = ? AND is_open"
BATCH = """
SELECT log.position, value, key, headers, appended_at_ms FROM log JOIN topic USING(topic_id)
WHERE topic.name = ?1 AND log.position > ?2 ORDER BY log.position LIMIT ?3
"""
OPEN_BEFORE = """
SELECT EXISTS(SELECT 1 FROM topic JOIN grp USING(topic_id) JOIN lease USING(grp_id) JOIN log USING(position)
    WHERE topic.name = ?1 AND grp.name = ?2 AND lease.position < ?3 AND log.key = ?4)
"""
LOWEST_CURSOR = "SELECT min(cursor) FROM grp WHERE topic_id = ?"
TRIM = """
DELETE FROM log WHERE position IN (
    SELECT position FROM log AS old WHERE topic_id = ?1 AND position <= ?2
        AND NOT EXISTS(SELECT 1 FROM grp JOIN lease USING(grp_id)
            WHERE grp.topic_id = ?1 AND lease.position = old.position)
        AND NOT EXISTS(SELECT 1 FROM grp JOIN dead USING(grp_id)
            WHERE grp.topic_id = ?1 AND dead.position = old.position AND is_open)
    ORDER BY position LIMIT ?3)
"""
COUNT_TRIMMED = "UPDATE topic SET trimmed_count = trimmed_count + ? WHERE topic_id = ?"

_headers_decoder = msgspec.json.Decoder(dict[str, str])


def compute_lag(db: apsw.Connection, topic: str, group: str, *, now_ms: int) -> Lag:
    """Return how far a group is behind; a group that never claimed is behind by everything there is."""
    found = db.execute(TOPIC, (topic,)).get
    if found is None:
        return Lag(undelivered=0, in_flight=0, waiting=0, oldest_age_ms=0, dead=0)
    topic_id, record_count, trimmed_count = found
    grp_id, cursor, passed = db.execute(GROUP, (topic_id, group)).get or (0, 0, trimmed_count)
    delayed = db.execute(DELAYED, (topic_id, cursor)).get
    held, in_flight, oldest_held = db.execute(HELD, (grp_id, now_ms)).get
    oldest = oldest_held or db.execute(NEXT_FRESH, (topic_id, cursor)).get
    oldest_ms = db.execute(APPENDED_AT, (oldest,)).get if oldest else now_ms
    return Lag(
        undelivered=record_count - passed - delayed,
        in_flight=int(in_flight),
        waiting=held - int(in_flight) + delayed,
        oldest_age_ms=max(0, now_ms - oldest_ms),
        dead=db.execute(DEAD, (grp_id,)).get,
        lost=db.execute(LOST, (grp_id,)).get,
    )


def has_open_before(db: apsw.Connection, topic: str, group: str, *, key: str, offset: int) -> bool:
    """Whether a group has passed an earlier record of this key and is not done with it."""
    return bool(db.execute(OPEN_BEFORE, (topic, group, offset, key)).get)


def count_records(db: apsw.Connection, topic: str) -> int:
    """Return the number of records ever appended to a topic."""
    found = db.execute(TOPIC, (topic,)).get
    return int(found[1]) if found else 0


def count_trimmed(db: apsw.Connection, topic: str) -> int:
    """Return the number of records that are gone from a topic."""
    found = db.execute(TOPIC, (topic,)).get
    return int(found[2]) if found else 0


def list_topics(db: apsw.Connection) -> list[str]:
    """Return the names of all topics, sorted."""
    return [name for (name,) in db.execute("SELECT name FROM topic ORDER BY name")]


def read_batch(db: apsw.Connection, *, topic: str, after: int) -> list[StoredRecord]:
    """Return the next records of a topic, bounded in number and bytes, at least one if there is any."""
    batch: list[StoredRecord] = []
    size = 0
    for position, value, key, headers, appended_at_ms in db.execute(BATCH, (topic, after, BATCH_RECORDS)):
        decoded = _headers_decoder.decode(headers) if headers else {}
        batch.append(StoredRecord(topic, position, value, key, decoded, appended_at_ms))
        size += len(value)
        if size >= BATCH_BYTES_MAX:
            break
    return batch


def trim_some(turn: Turn, topic: str, *, upto: int) -> int:
    """Delete at most one turn's worth of records that every group has accepted; return how many."""
    topic_id = turn.names.try_topic(topic)
    lowest = turn.db.execute(LOWEST_CURSOR, (topic_id,)).get
    if topic_id is None or lowest is None:
        return 0
    turn.db.execute(TRIM, (topic_id, min(upto, lowest), TRIM_RECORDS_PER_TURN))
    trimmed = turn.db.changes()
    turn.db.execute(COUNT_TRIMMED, (trimmed, topic_id))
    return trimmed
