"""Records of the log: consumed ones at once, those of inputs when their age has come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import apsw

from gristmill.adapters.sqlite.file.rows import to_json
from gristmill.adapters.sqlite.file.writer import Turn
from gristmill.adapters.sqlite.upkeep.sweeps.losing import lose_records
from gristmill.adapters.sqlite.upkeep.sweeps.standing import let_go_groups
from gristmill.adapters.sqlite.upkeep.sweeps.sweep import Moment

__all__ = ["RecordSweep"]

RECORDS_PER_TURN = 1_000

Found = tuple[int, list[int], list[int]]
"""Number of a topic, positions of it, and groups that hold nothing back."""

TOPICS = "SELECT topic_id, name FROM topic WHERE record_count > trimmed_count ORDER BY topic_id"
GROUPS = "SELECT name FROM grp WHERE topic_id = ?"
YOUNGEST = "SELECT appended_at_ms FROM log WHERE topic_id = ? ORDER BY position DESC LIMIT 1"
IS_OPEN = """
SELECT EXISTS(SELECT 1 FROM grp WHERE topic_id = ?1
    AND cursor < (SELECT ifnull(max(position), 0) FROM log WHERE topic_id = ?1))
    OR NOT EXISTS(SELECT 1 FROM grp WHERE topic_id = ?1)
    OR EXISTS(SELECT 1 FROM grp JOIN lease USING(grp_id) WHERE topic_id = ?1)
    OR EXISTS(SELECT 1 FROM grp JOIN dead USING(grp_id) WHERE topic_id = ?1 AND is_open)
"""
# Behind the cursor of every group, held by none, and not the record of a dead letter that may come back.
CONSUMED = """
topic_id = ?1 AND position <= (SELECT min(cursor) FROM grp WHERE topic_id = ?1
        AND grp_id NOT IN (SELECT value FROM json_each(?2)))
    AND NOT EXISTS(SELECT 1 FROM grp JOIN lease USING(grp_id)
        WHERE grp.topic_id = ?1 AND lease.position = log.position
        AND grp_id NOT IN (SELECT value FROM json_each(?2)))
    AND NOT EXISTS(SELECT 1 FROM grp JOIN dead USING(grp_id)
        WHERE grp.topic_id = ?1 AND dead.position = log.position AND is_open)
"""
FIND = f"SELECT position FROM log WHERE {CONSUMED} AND position > ?3 ORDER BY position LIMIT ?4"
DELETE = f"DELETE FROM log WHERE {CONSUMED} AND position IN (SELECT value FROM json_each(?3))"
STILL = f"SELECT position FROM log WHERE {CONSUMED} AND position IN (SELECT value FROM json_each(?3))"
COUNT_TRIMMED = "UPDATE topic SET trimmed_count = trimmed_count + ?2 WHERE topic_id = ?1"


class RecordSweep:
    """Goes over the topics once a sweep."""

    def __init__(self) -> None:
        self._places: dict[int, int] = {}

    def begin(self) -> None:
        """Start over: what was held may have ended since."""
        self._places.clear()

    def find(self, db: apsw.Connection, moment: Moment) -> Sequence[Found]:
        """Return positions of the first topic that has any to spare."""
        let_go = let_go_groups(db, moment)
        for topic_id, name in _open_topics(db, moment):
            place, without = self._places.get(topic_id, 0), let_go.get(name, [])
            bindings = (topic_id, to_json(without), place, RECORDS_PER_TURN)
            found = [position for (position,) in db.execute(FIND, bindings)]
            if found:
                self._places[topic_id] = found[-1]
                return [(topic_id, found, without)]
        return []

    def prepare(self, found: Sequence[Found], moment: Moment) -> None:
        """Nothing to do."""

    def remove(self, turn: Turn, found: Sequence[Found], moment: Moment) -> Counter[str]:
        """Delete records, unless a new group has come for them meanwhile."""
        deleted: Counter[str] = Counter()
        for topic_id, positions, without in found:
            bindings = (topic_id, to_json(without), to_json(positions))
            if without:
                still = [position for (position,) in turn.db.execute(STILL, bindings)]
                deleted["log"] += lose_records(turn, topic_id, still)
                continue
            turn.db.execute(DELETE, bindings)
            count = turn.db.changes()
            turn.db.execute(COUNT_TRIMMED, (topic_id, count))
            deleted["log"] += count
        return deleted


def _open_topics(db: apsw.Connection, moment: Moment) -> Iterator[tuple[int, str]]:
    """Yield the topics of which consumed records may go now."""
    rules = moment.rules
    topics: list[Any] = db.execute(TOPICS).fetchall()
    for topic_id, name in topics:
        if name.startswith(rules.input_topics):
            if not rules.inputs_ms or db.execute(IS_OPEN, (topic_id,)).get:
                continue
            youngest_ms = db.execute(YOUNGEST, (topic_id,)).get
            if youngest_ms is not None and youngest_ms <= moment.now_ms - rules.inputs_ms:
                yield topic_id, name
        else:
            there = {group for (group,) in db.execute(GROUPS, (topic_id,))}
            if there.issuperset(rules.groups.get(name, ())):
                yield topic_id, name
