"""Runs that a newer run of the same plan over the same item has replaced, with their effects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import apsw

from gristmill.adapters.packing import unpack_ended_at, unpack_plan
from gristmill.adapters.sqlite.file.rows import to_json
from gristmill.adapters.sqlite.file.writer import Turn
from gristmill.adapters.sqlite.state.packed import STATUSES
from gristmill.adapters.sqlite.upkeep.sweeps.sweep import LOOKED_MAX, ROWS_PER_TURN, Moment, Round, uncount

__all__ = ["RunSweep", "remove_runs"]

# Numbers of runs are never used again, so the highest one stays.
OLD = """
SELECT run_row, item_id, position, body, (SELECT count(*) FROM run o WHERE o.item_id = run.item_id) FROM run
WHERE run_row > ? AND run_row < (SELECT max(run_row) FROM run) ORDER BY run_row LIMIT ?
"""
HAS_RECORD = "SELECT EXISTS(SELECT 1 FROM log WHERE position = ?)"
OF_ITEM = "SELECT run_row, position, body FROM run WHERE item_id = ?"
STATUS_COUNTS = """
SELECT status, count(*) FROM run WHERE run_row IN (SELECT value FROM json_each(?)) GROUP BY status
"""
DELETE_EFFECTS = """
DELETE FROM effect WHERE run_id IN (SELECT run_id FROM run WHERE run_row IN (SELECT value FROM json_each(?)))
"""
DELETE = "DELETE FROM run WHERE run_row IN (SELECT value FROM json_each(?))"


class _Row(NamedTuple):
    run_row: int
    item_id: int
    position: int
    body: bytes
    of_item: int


class RunSweep:
    """Goes over the runs from the oldest on, some thousands a sweep, and begins anew when it has seen all old ones."""

    def __init__(self) -> None:
        self._round = Round()

    def begin(self) -> None:
        """Look at some more."""
        self._round.looked = 0

    def find(self, db: apsw.Connection, moment: Moment) -> Sequence[int]:
        """Return numbers of runs that were replaced long ago and whose record is gone."""
        age_ms = moment.rules.runs_ms
        if not age_ms or moment.now_ms < self._round.rests_until_ms:
            return []
        bound_ms = moment.now_ms - age_ms
        found: list[int] = []
        while not found and self._round.looked < LOOKED_MAX:
            rows = [_Row(*row) for row in db.execute(OLD, (self._round.place, ROWS_PER_TURN))]
            self._round.looked += len(rows)
            # Most items have one run, and then there is nothing to decode.
            rivals = [row for row in rows if row.of_item > 1 and unpack_ended_at(row.body) <= bound_ms]
            found = [row.run_row for row in rivals if _is_replaced(db, row)]
            if len(rows) < ROWS_PER_TURN or unpack_ended_at(rows[-1].body) > bound_ms:
                self._round.end(moment)
                break
            self._round.place = rows[-1].run_row
        return found

    def prepare(self, found: Sequence[int], moment: Moment) -> None:
        """Nothing to do."""

    def remove(self, turn: Turn, found: Sequence[int], moment: Moment) -> Counter[str]:
        """Delete runs and their effects."""
        return remove_runs(turn, found)


def remove_runs(turn: Turn, run_rows: Sequence[int]) -> Counter[str]:
    """Delete runs with their effects and take them off the counts."""
    rows = to_json(list(run_rows))
    counts = Counter({f"runs.{STATUSES[status]}": count for status, count in turn.db.execute(STATUS_COUNTS, (rows,))})
    deleted: Counter[str] = Counter()
    turn.db.execute(DELETE_EFFECTS, (rows,))
    deleted["effect"] = turn.db.changes()
    turn.db.execute(DELETE, (rows,))
    deleted["run"] = turn.db.changes()
    uncount(turn, counts + Counter(runs=deleted["run"]))
    return deleted


def _is_replaced(db: apsw.Connection, row: _Row) -> bool:
    """Whether a run of the same plan stands at a higher position, and nobody reads the output of this one's record."""
    if db.execute(HAS_RECORD, (row.position,)).get:
        return False
    plan = unpack_plan(row.body)
    place = (row.position, row.run_row)
    return any(
        (position, run_row) > place and unpack_plan(body) == plan
        for run_row, position, body in db.execute(OF_ITEM, (row.item_id,))
    )
