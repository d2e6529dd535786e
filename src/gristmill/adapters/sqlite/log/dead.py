"""Records that were given up: written once, listed, and brought back for one group."""

from __future__ import annotations

import apsw
import msgspec

from gristmill.adapters.packing import pack
from gristmill.adapters.sqlite.file.writer import Turn
from gristmill.adapters.sqlite.log.settling import drop_leases, owned_indexes
from gristmill.domain.log import DeadLetter, Diagnosis, Lease, Rejected

__all__ = ["drop", "list_dead", "reject", "requeue"]

BURY = """
INSERT INTO dead(grp_id, position, generation, owner_id, epoch, attempt, failed_at_ms, diagnosis)
SELECT grp_id, position, generation, owner_id, epoch, attempt, ?3, ?4 FROM lease WHERE grp_id = ?1 AND position = ?2
"""
WAS_BURIED = "SELECT EXISTS(SELECT 1 FROM dead WHERE grp_id = ?1 AND position = ?2 AND owner_id = ?3 AND epoch = ?4)"
CLOSE = "UPDATE dead SET is_open = 0 WHERE dead_id = ? AND is_open RETURNING grp_id, position, generation, epoch"
SET_ASIDE = """
INSERT INTO lease(grp_id, position, owner_id, epoch, attempt, visible_at_ms, generation)
VALUES(?1, ?2, 0, ?4, 0, ?5, ?3)
"""
TOPIC_OF_GROUP = "SELECT topic.name FROM grp JOIN topic USING(topic_id) WHERE grp_id = ?"
LIST = """
SELECT dead_id, topic.name, grp.name, position, generation, CASE WHEN ?5 THEN value ELSE x'' END, key, headers, attempt,
    diagnosis, failed_at_ms
FROM dead JOIN grp USING(grp_id) JOIN topic USING(topic_id) JOIN log USING(position)
WHERE is_open AND ?1 IN ('', topic.name) AND ?2 IN ('', grp.name) AND dead_id > ?3 ORDER BY dead_id LIMIT ?4
"""

_diagnosis_decoder = msgspec.msgpack.Decoder(Diagnosis)
_headers_decoder = msgspec.json.Decoder(dict[str, str])


def reject(turn: Turn, lease: Lease, diagnosis: Diagnosis, *, now_ms: int) -> Rejected:
    """Write a dead letter and accept the record, if the lease still holds."""
    grp_id = turn.names.try_group(lease.topic, lease.group)
    if owned_indexes(turn, [lease]):
        turn.db.execute(BURY, (grp_id, lease.offset, now_ms, pack(diagnosis)))
        drop_leases(turn, [lease])
        return "written"
    bindings = (grp_id, lease.offset, turn.names.try_owner(lease.owner), lease.epoch)
    return "already" if turn.db.execute(WAS_BURIED, bindings).get else "lost"


def requeue(turn: Turn, dead_letter_id: int, *, now_ms: int) -> str | None:
    """Set a dead letter's record aside for its group with a fresh budget; return its topic, None if there is none."""
    closed = turn.db.execute(CLOSE, (dead_letter_id,)).get
    if closed is None:
        return None
    grp_id, position, generation, epoch = closed
    turn.db.execute(SET_ASIDE, (grp_id, position, generation + 1, epoch, now_ms))
    return str(turn.db.execute(TOPIC_OF_GROUP, (grp_id,)).get)


def drop(turn: Turn, dead_letter_id: int) -> bool:
    """Close a dead letter; False if there is none."""
    return turn.db.execute(CLOSE, (dead_letter_id,)).get is not None


def list_dead(
    db: apsw.Connection, *, topic: str, group: str, after: int, limit: int, has_values: bool
) -> list[DeadLetter]:
    """Return open dead letters, oldest first; an empty name stands for all. Their records are never trimmed."""
    return [
        DeadLetter(
            dead_letter_id=row[0],
            topic=row[1],
            group=row[2],
            offset=row[3],
            generation=row[4],
            value=row[5],
            key=row[6],
            headers=_headers_decoder.decode(row[7]) if row[7] else {},
            attempt=row[8],
            diagnosis=_diagnosis_decoder.decode(row[9]),
            failed_at_ms=row[10],
        )
        for row in db.execute(LIST, (topic, group, after, limit, has_values))
    ]
