"""Notes how far the log has come before any of it is let go of, so that what came in can still be counted over time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import apsw

from gristmill.adapters.sqlite.file.writer import Turn
from gristmill.adapters.sqlite.upkeep.sweeps.sweep import Moment

__all__ = ["SampleSweep"]

KEPT_MS = 8 * 86_400_000
"""A week and the day under way."""

REST_MS = 240_000
"""While nothing comes a note now and then is enough: between two notes the log is taken to have gone evenly."""

IS_NEWS = """
SELECT value <> ifnull((SELECT position FROM sample ORDER BY at_ms DESC LIMIT 1), 0)
    OR ifnull((SELECT max(at_ms) FROM sample), 0) NOT BETWEEN ?1 + 1 AND ?2 FROM tally WHERE name = 'position'
"""
# The first note of all, for what was there before anybody looked.
BEGIN = """
INSERT INTO sample(at_ms, position) SELECT appended_at_ms, position - 1 FROM log
WHERE NOT EXISTS(SELECT 1 FROM sample) ORDER BY position LIMIT 1
"""
NOTE = "INSERT OR REPLACE INTO sample(at_ms, position) SELECT ?1, value FROM tally WHERE name = 'position'"
# What lies ahead of the clock was noted while that was wrong, and would stand between all that comes.
DELETE = "DELETE FROM sample WHERE at_ms < ? OR at_ms > ?"


class SampleSweep:
    """One note a sweep, where anything was appended since the last note or that is some minutes old."""

    def __init__(self) -> None:
        self._is_done = False

    def begin(self) -> None:
        """Note again."""
        self._is_done = False

    def find(self, db: apsw.Connection, moment: Moment) -> Sequence[bool]:
        """Return whether there is something to note."""
        if self._is_done or not db.execute(IS_NEWS, (moment.clock_ms - REST_MS, moment.clock_ms)).get:
            return []
        self._is_done = True
        return [True]

    def prepare(self, found: Sequence[bool], moment: Moment) -> None:
        """Nothing to do."""

    def remove(self, turn: Turn, found: Sequence[bool], moment: Moment) -> Counter[str]:
        """Note, and delete what is older than a week or cannot have been yet."""
        turn.db.execute(BEGIN)
        turn.db.execute(NOTE, (moment.clock_ms,))
        turn.db.execute(DELETE, (moment.now_ms - KEPT_MS, moment.clock_ms))
        return Counter(sample=turn.db.changes())
