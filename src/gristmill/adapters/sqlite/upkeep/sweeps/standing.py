"""Groups that stand still behind records of a topic: since when, so that one nobody serves cannot fill the disk.

Only groups that no generator of this installation serves are looked at. One that has anything under a lease is served.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import apsw

from gristmill.adapters.sqlite.file.writer import Turn
from gristmill.adapters.sqlite.upkeep.sweeps.sweep import Moment
from gristmill.domain.upkeep.retention import RetentionRules, StandingGroup

__all__ = ["StandingSweep", "let_go_groups", "read_standing"]

SINCE, CURSOR = "standing_since:", "standing_cursor:"

GROUPS = """
SELECT topic.name, grp.name, grp_id, cursor, since.value, was.value,
    cursor < ifnull((SELECT max(position) FROM log WHERE log.topic_id = grp.topic_id), 0)
    AND NOT EXISTS(SELECT 1 FROM lease WHERE lease.grp_id = grp.grp_id AND owner_id <> 0 AND visible_at_ms > ?1)
FROM grp JOIN topic USING(topic_id)
LEFT JOIN tally AS since ON since.name = 'standing_since:' || grp_id
LEFT JOIN tally AS was ON was.name = 'standing_cursor:' || grp_id
WHERE record_count > trimmed_count OR since.name IS NOT NULL
"""
NOTE = "INSERT INTO tally VALUES(?1, ?2) ON CONFLICT DO UPDATE SET value = excluded.value"
FORGET = "DELETE FROM tally WHERE name IN (?1, ?2)"

Change = tuple[int, int | None]
"""Number of a group, and where it stands; None where it does not stand any more."""


class StandingSweep:
    """Notes when groups began to stand still. An idle store is not written to."""

    def begin(self) -> None:
        """Nothing is remembered."""

    def find(self, db: apsw.Connection, moment: Moment) -> Sequence[Change]:
        """Return groups of which something else is noted than what is."""
        changes: list[Change] = []
        for row in _read(db, moment.rules, clock_ms=moment.clock_ms):
            _, _, grp_id, cursor, since_ms, was, is_standing = row
            if is_standing and (since_ms is None or was != cursor):
                changes.append((grp_id, cursor))
            elif not is_standing and since_ms is not None:
                changes.append((grp_id, None))
        return changes

    def prepare(self, found: Sequence[Change], moment: Moment) -> None:
        """Nothing to do."""

    def remove(self, turn: Turn, found: Sequence[Change], moment: Moment) -> Counter[str]:
        """Note it; no row of anybody goes."""
        for grp_id, cursor in found:
            if cursor is None:
                turn.db.execute(FORGET, (f"{SINCE}{grp_id}", f"{CURSOR}{grp_id}"))
            else:
                turn.db.execute(NOTE, (f"{SINCE}{grp_id}", moment.now_ms))
                turn.db.execute(NOTE, (f"{CURSOR}{grp_id}", cursor))
        return Counter()


def let_go_groups(db: apsw.Connection, moment: Moment) -> dict[str, list[int]]:
    """Return topic -> numbers of groups that no longer hold its records back."""
    found: dict[str, list[int]] = {}
    for topic, _, grp_id, cursor, since_ms, was, is_standing in _read(db, moment.rules, clock_ms=moment.clock_ms):
        is_noted = is_standing and since_ms is not None and was == cursor
        if is_noted and moment.rules.abandoned_ms and moment.now_ms - since_ms >= moment.rules.abandoned_ms:
            found.setdefault(topic, []).append(grp_id)
    return found


def read_standing(db: apsw.Connection, rules: RetentionRules, *, now_ms: int) -> list[StandingGroup]:
    """Return groups that stand still, with whether they hold nothing back any more."""
    return [
        StandingGroup(topic, group, since_ms, bool(rules.abandoned_ms) and now_ms - since_ms >= rules.abandoned_ms)
        for topic, group, _, cursor, since_ms, was, is_standing in _read(db, rules, clock_ms=now_ms)
        if is_standing and since_ms is not None and was == cursor
    ]


def _read(db: apsw.Connection, rules: RetentionRules, *, clock_ms: int) -> list[Any]:
    rows: list[Any] = db.execute(GROUPS, (clock_ms,)).fetchall()
    return [
        row for row in rows if not row[0].startswith(rules.input_topics) and row[1] not in rules.groups.get(row[0], ())
    ]
