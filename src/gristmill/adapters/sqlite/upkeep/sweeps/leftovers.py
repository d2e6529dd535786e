"""Rows that only remember: what has run out, closed letters, old quarantine, owners that are gone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import apsw

from gristmill.adapters.sqlite.file.rows import to_json
from gristmill.adapters.sqlite.file.writer import Turn
from gristmill.adapters.sqlite.upkeep.sweeps.sweep import ROWS_PER_TURN, Moment, uncount

__all__ = ["LeftoverSweep", "leftover_sweeps"]

Keys = list[int] | list[str]

OWNERS_KEPT = 1_000
"""The newest stay whatever becomes of them: a process that is about to claim has no lease yet."""

FIND_CACHE = "SELECT key FROM cache WHERE until_ms <= ?2 AND ?1 IS NOT NULL ORDER BY until_ms LIMIT ?3"
FIND_ONCE = "SELECT key FROM once WHERE until_ms <= ?2 AND ?1 IS NOT NULL ORDER BY until_ms LIMIT ?3"
FIND_FENCE = "SELECT fence_id FROM fence WHERE until_ms <= ?2 AND ?1 IS NOT NULL ORDER BY until_ms LIMIT ?3"
# A letter answers for the lease of its record too: that lease's generation follows its own.
FIND_DEAD = """
SELECT dead_id FROM dead WHERE dead_id > ?1 AND NOT is_open AND failed_at_ms <= ?2
    AND NOT EXISTS(SELECT 1 FROM lease WHERE lease.grp_id = dead.grp_id AND lease.position = dead.position)
ORDER BY dead_id LIMIT ?3
"""
FIND_ORIGIN = "SELECT origin_id FROM origin WHERE until_ms <= ?2 AND ?1 IS NOT NULL ORDER BY until_ms LIMIT ?3"
FIND_CLOSING = "SELECT closing_id FROM closing WHERE closing_id > ?1 AND at_ms <= ?2 ORDER BY closing_id LIMIT ?3"
# The output of an input tells of its quarantined records as long as their records are there.
FIND_QUARANTINE = """
SELECT quarantine_id FROM quarantine WHERE quarantine_id > ?1 AND at_ms <= ?2
    AND NOT EXISTS(SELECT 1 FROM log WHERE log.position = quarantine.position)
ORDER BY quarantine_id LIMIT ?3
"""
# Sets of owners, each made once: asked for every owner it would go through all letters as often.
FIND_OWNERS = f"""
SELECT owner_id FROM owner WHERE owner_id > ?1 AND owner_id <= (SELECT max(owner_id) FROM owner) - {OWNERS_KEPT}
    AND ?2 IS NOT NULL AND name NOT IN (SELECT value FROM json_each(?4))
    AND owner_id NOT IN (SELECT owner_id FROM lease) AND owner_id NOT IN (SELECT owner_id FROM dead)
ORDER BY owner_id LIMIT ?3
"""


@dataclass
class LeftoverSweep:
    """Rows of one table, by their key, that went past an age or a time of their own.

    Attributes:
        age_ms: from the rules, 0 keeps for good; None where rows carry the time at which they end.
        find_sql: takes the last key that was looked at, a time, a number of rows, and living owners where it asks.
        tally: running count that the rows are part of.
    """

    table: str
    key: str
    find_sql: str
    age_ms: Callable[[Moment], int] | None = None
    tally: str = ""
    _place: int = 0

    def begin(self) -> None:
        """Start over."""
        self._place = 0

    def find(self, db: apsw.Connection, moment: Moment) -> Sequence[Keys]:
        """Return keys, one turn's worth."""
        age_ms = self.age_ms(moment) if self.age_ms is not None else None
        if age_ms == 0:
            return []
        bindings = [self._place, moment.now_ms - (age_ms or 0), ROWS_PER_TURN]
        if "?4" in self.find_sql:
            bindings.append(to_json(sorted(moment.living)))  # type: ignore[arg-type]
        keys = [key for (key,) in db.execute(self.find_sql, bindings)]
        if keys and isinstance(keys[-1], int):
            self._place = keys[-1]
        return [keys] if keys else []

    def prepare(self, found: Sequence[Keys], moment: Moment) -> None:
        """Nothing to do."""

    def remove(self, turn: Turn, found: Sequence[Keys], moment: Moment) -> Counter[str]:
        """Delete them."""
        sql = f"DELETE FROM {self.table} WHERE {self.key} IN (SELECT value FROM json_each(?1))"
        if self.age_ms is None and self.table in ("cache", "once", "fence", "origin"):
            # It may have been written again meanwhile.
            sql += f" AND until_ms <= {moment.now_ms}"
        deleted: Counter[str] = Counter()
        for keys in found:
            turn.db.execute(sql, (to_json(keys),))
            deleted[self.table] += turn.db.changes()
        if self.tally:
            uncount(turn, Counter({self.tally: deleted[self.table]}))
        return deleted


def leftover_sweeps() -> list[LeftoverSweep]:
    """Return one for each table."""
    return [
        LeftoverSweep("cache", "key", FIND_CACHE),
        LeftoverSweep("once", "key", FIND_ONCE),
        LeftoverSweep("fence", "fence_id", FIND_FENCE),
        LeftoverSweep("origin", "origin_id", FIND_ORIGIN),
        LeftoverSweep("dead", "dead_id", FIND_DEAD, lambda moment: moment.rules.letters_ms),
        LeftoverSweep("closing", "closing_id", FIND_CLOSING, lambda moment: moment.rules.letters_ms),
        LeftoverSweep(
            "quarantine",
            "quarantine_id",
            FIND_QUARANTINE,
            lambda moment: moment.rules.quarantine_ms,
            tally="quarantined",
        ),
        LeftoverSweep("owner", "owner_id", FIND_OWNERS),
    ]
