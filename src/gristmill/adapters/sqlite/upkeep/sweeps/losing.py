"""Deletes records that somebody has not read, and counts them as lost to each group that was not done with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gristmill.adapters.sqlite.file.rows import to_json
from gristmill.adapters.sqlite.file.writer import Turn

__all__ = ["LOST", "lose_records"]

LOST = "lost:"
"""How the names of the counts begin; the number of the group follows."""

GROUPS = "SELECT grp_id, cursor FROM grp WHERE topic_id = ?"
FORGET_HELD = """
DELETE FROM lease WHERE grp_id = ?1 AND position IN (SELECT value FROM json_each(?2)) RETURNING position
"""
PASS = "UPDATE grp SET passed = passed + ?2 WHERE grp_id = ?1"
COUNT = "INSERT INTO tally VALUES(?1, ?2) ON CONFLICT DO UPDATE SET value = value + excluded.value"
DELETE = "DELETE FROM log WHERE topic_id = ?1 AND position IN (SELECT value FROM json_each(?2))"
COUNT_TRIMMED = "UPDATE topic SET trimmed_count = trimmed_count + ?2 WHERE topic_id = ?1"


def lose_records(turn: Turn, topic_id: int, positions: Sequence[int]) -> int:
    """Delete records of a topic whoever still wants them; return how many went."""
    packed = to_json(list(positions))
    groups: list[Any] = turn.db.execute(GROUPS, (topic_id,)).fetchall()
    for grp_id, cursor in groups:
        fresh = sum(position > cursor for position in positions)
        held = len(turn.db.execute(FORGET_HELD, (grp_id, packed)).fetchall())
        if fresh:
            # What comes after them is still told from what the cursor has gone over.
            turn.db.execute(PASS, (grp_id, fresh))
        if fresh + held:
            turn.db.execute(COUNT, (f"{LOST}{grp_id}", fresh + held))
    turn.db.execute(DELETE, (topic_id, packed))
    count = turn.db.changes()
    turn.db.execute(COUNT_TRIMMED, (topic_id, count))
    return int(count)
