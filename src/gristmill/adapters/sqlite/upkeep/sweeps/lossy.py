"""Records of lossy topics: above what the topic may keep, or too old, whether they were read or not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import apsw

from gristmill.adapters.sqlite.file.rows import to_json
from gristmill.adapters.sqlite.file.writer import Turn
from gristmill.adapters.sqlite.upkeep.sweeps.losing import lose_records
from gristmill.adapters.sqlite.upkeep.sweeps.sweep import Moment
from gristmill.domain.upkeep.topics import LossyRule

__all__ = ["LossySweep"]

RECORDS_PER_TURN = 1_000

Found = tuple[int, list[int]]
"""Number of a topic, and positions of it."""

TOPIC = "SELECT topic_id, record_count - trimmed_count FROM topic WHERE name = ?"
# Whoever works on a record finishes it, and a dead letter keeps its own.
SPARED = """
EXISTS(SELECT 1 FROM grp JOIN lease USING(grp_id) WHERE grp.topic_id = ?1 AND lease.position = log.position
    AND owner_id <> 0 AND visible_at_ms > ?2)
OR EXISTS(SELECT 1 FROM grp JOIN dead USING(grp_id)
    WHERE grp.topic_id = ?1 AND dead.position = log.position AND is_open)
"""
OLDEST = f"""
SELECT position, appended_at_ms, {SPARED} FROM log WHERE topic_id = ?1 AND position > ?3 ORDER BY position LIMIT ?4
"""
STILL = f"""
SELECT position FROM log WHERE topic_id = ?1 AND position IN (SELECT value FROM json_each(?3)) AND NOT ({SPARED})
"""


class LossySweep:
    """Goes over the lossy topics once a sweep."""

    def __init__(self) -> None:
        self._places: dict[int, int] = {}

    def begin(self) -> None:
        """Start over: what was worked on may have ended since."""
        self._places.clear()

    def find(self, db: apsw.Connection, moment: Moment) -> Sequence[Found]:
        """Return positions of the first topic that has any too many."""
        for name, rule in moment.rules.lossy.items():
            topic: Any = db.execute(TOPIC, (name,)).get
            if topic is None:
                continue
            topic_id, count = topic
            if positions := self._find_in(db, topic_id, count, rule, moment):
                return [(topic_id, positions)]
        return []

    def prepare(self, found: Sequence[Found], moment: Moment) -> None:
        """Nothing to do."""

    def remove(self, turn: Turn, found: Sequence[Found], moment: Moment) -> Counter[str]:
        """Delete records that nobody has begun to work on meanwhile."""
        deleted: Counter[str] = Counter()
        for topic_id, positions in found:
            bindings = (topic_id, moment.clock_ms, to_json(positions))
            still: list[Any] = [position for (position,) in turn.db.execute(STILL, bindings)]
            deleted["log"] += lose_records(turn, topic_id, still)
        return deleted

    def _find_in(self, db: apsw.Connection, topic_id: int, count: int, rule: LossyRule, moment: Moment) -> list[int]:
        excess = count - rule.max_entries if rule.max_entries else 0
        before_ms = moment.now_ms - rule.max_age_ms if rule.max_age_ms else 0
        place = self._places.get(topic_id, 0)
        found: list[int] = []
        bindings = (topic_id, moment.clock_ms, place, RECORDS_PER_TURN)
        oldest: list[Any] = db.execute(OLDEST, bindings).fetchall()
        for position, appended_at_ms, is_spared in oldest:
            if len(found) >= excess and appended_at_ms >= before_ms:
                break
            self._places[topic_id] = position
            if not is_spared:
                found.append(position)
        return found
