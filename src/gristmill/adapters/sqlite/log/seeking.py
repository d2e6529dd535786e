"""Moves a group over its topic, in turns of a bounded number of records, and tells where it stands.

Going back sets records aside that the group was done with; the cursor stays, so what is under way is not touched.
Going ahead moves the cursor and forgets what waits below.
"""

from __future__ import annotations

import apsw
import msgspec

from gristmill.adapters.sqlite.file.writer import Turn
from gristmill.domain.steering import PartitionLag, SeekTo, Sought

__all__ = ["Place", "count_seek", "find_place", "forget_waiting", "move_ahead", "read_partition", "set_aside_again"]

RECORDS_PER_TURN = 1_000

GROUP = """
SELECT topic.topic_id, ifnull(grp_id, 0), ifnull(cursor, 0) FROM topic
LEFT JOIN grp ON grp.topic_id = topic.topic_id AND grp.name = ?2 WHERE topic.name = ?1
"""
# Nothing that is held, and no record of an open dead letter: that one comes back from the desk.
DONE_WITH = """
FROM log WHERE log.topic_id = ?1 AND log.position >= ?3 AND log.position <= ?4
    AND NOT EXISTS(SELECT 1 FROM lease WHERE lease.grp_id = ?2 AND lease.position = log.position)
    AND NOT EXISTS(SELECT 1 FROM dead WHERE dead.grp_id = ?2 AND dead.position = log.position AND is_open)
"""
COUNT_AGAIN = f"SELECT count(*) {DONE_WITH}"
# No earlier holder can have an epoch as high as the time, and no earlier dead letter a later generation.
SET_ASIDE = f"""
INSERT INTO lease(grp_id, position, owner_id, epoch, attempt, visible_at_ms, generation)
SELECT ?2, log.position, 0, ?5, 0, ?5,
    ifnull((SELECT max(generation) + 1 FROM dead WHERE dead.grp_id = ?2 AND dead.position = log.position), 0)
{DONE_WITH} ORDER BY log.position LIMIT ?6 RETURNING position
"""
COUNT_AHEAD = "SELECT count(*) FROM log WHERE topic_id = ?1 AND position > ?2 AND position < ?3"
COUNT_WAITING = "SELECT count(*) FROM lease WHERE grp_id = ?1 AND owner_id = 0 AND position < ?2"
COUNT_LEASED = "SELECT count(*) FROM lease WHERE grp_id = ?1 AND owner_id <> 0 AND visible_at_ms > ?2"
FORGET_WAITING = """
DELETE FROM lease WHERE grp_id = ?1 AND position IN
    (SELECT position FROM lease WHERE grp_id = ?1 AND owner_id = 0 AND position < ?2 LIMIT ?3)
"""
MOVE_AHEAD = "UPDATE grp SET cursor = ?2, passed = passed + ?3 WHERE grp_id = ?1 AND cursor = ?4"
BOUND_AHEAD = """
SELECT count(*), max(position) FROM
    (SELECT position FROM log WHERE topic_id = ?1 AND position > ?2 AND position < ?3 ORDER BY position LIMIT ?4)
"""
LAST = "SELECT ifnull(max(position), 0) FROM log WHERE topic_id = ?"
NEXT = "SELECT position, appended_at_ms FROM log WHERE topic_id = ? AND position >= ? ORDER BY position LIMIT 1"


class Place(msgspec.Struct, frozen=True):
    """A topic, a group that has claimed before (else number 0), and the first record that it is to get."""

    topic_id: int
    grp_id: int
    cursor: int
    first: int


def find_place(db: apsw.Connection, topic: str, group: str, to: SeekTo) -> Place | None:
    """Return where a group stands and where it is to go, None where there is no such topic."""
    found = db.execute(GROUP, (topic, group)).get
    if found is None:
        return None
    topic_id, grp_id, cursor = found
    first = to.offset if to.offset is not None else _find_by_time(db, topic_id, to.at_ms or 0)
    return Place(topic_id, grp_id, cursor, first)


def count_seek(db: apsw.Connection, place: Place, *, now_ms: int) -> Sought:
    """Count what moving a group would do."""
    again = db.execute(COUNT_AGAIN, (place.topic_id, place.grp_id, place.first, place.cursor)).get
    ahead = db.execute(COUNT_AHEAD, (place.topic_id, place.cursor, place.first)).get
    waiting = db.execute(COUNT_WAITING, (place.grp_id, place.first)).get
    return Sought(again, ahead + waiting, db.execute(COUNT_LEASED, (place.grp_id, now_ms)).get)


def set_aside_again(turn: Turn, place: Place, *, after: int, now_ms: int) -> list[int]:
    """Set aside one turn's worth of records behind `after` that the group was done with; return their positions."""
    first = max(place.first, after + 1)
    bindings = (place.topic_id, place.grp_id, first, place.cursor, now_ms, RECORDS_PER_TURN)
    return [position for (position,) in turn.db.execute(SET_ASIDE, bindings)]


def move_ahead(turn: Turn, topic: str, group: str, first: int) -> int:
    """Move the cursor over one turn's worth of records below `first`; return how many. Makes the group if need be."""
    grp_id = turn.names.group(topic, group)
    topic_id, _, cursor = turn.db.execute(GROUP, (topic, group)).get
    count, upto = turn.db.execute(BOUND_AHEAD, (topic_id, cursor, first, RECORDS_PER_TURN)).get
    if count:
        turn.db.execute(MOVE_AHEAD, (grp_id, upto, count, cursor))
    return int(count)


def forget_waiting(turn: Turn, place: Place) -> int:
    """Forget one turn's worth of records that wait below the place; return how many."""
    turn.db.execute(FORGET_WAITING, (place.grp_id, place.first, RECORDS_PER_TURN))
    return turn.db.changes()


def read_partition(db: apsw.Connection, topic: str, group: str, *, undelivered: int) -> PartitionLag | None:
    """Return where a group stands, None where there is no such topic."""
    found = db.execute(GROUP, (topic, group)).get
    if found is None:
        return None
    topic_id, grp_id, cursor = found
    end = max(cursor, db.execute(LAST, (topic_id,)).get)
    open_count = db.execute("SELECT count(*) FROM lease WHERE grp_id = ?", (grp_id,)).get
    return PartitionLag(partition=0, position=cursor, end=end, undelivered=undelivered, open_count=open_count)


def _find_by_time(db: apsw.Connection, topic_id: int, at_ms: int) -> int:
    """Return the first position of a record appended at a time or later, by halving: times grow with positions."""
    low, high = 1, db.execute(LAST, (topic_id,)).get + 1
    while low < high:
        middle = (low + high) // 2
        found = db.execute(NEXT, (topic_id, middle)).get
        if found is None or found[1] >= at_ms:
            high = middle
        else:
            low = found[0] + 1
    return int(low)
