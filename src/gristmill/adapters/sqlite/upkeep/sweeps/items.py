"""Whole items, where somebody has set an age for them: content, runs, effects, events, and what they shared.

An item that stands in a group with others stays, since newcomers are compared with it; so does one that a person has
said something about, and one whose record is still in the log. An input keeps its id for good, so that it is the same
item when it comes again, and whoever remembers the id is right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import apsw

from gristmill.adapters.packing import unpack_ended_at
from gristmill.adapters.placed import PlacedContribution, unpack_contributed
from gristmill.adapters.sqlite.file.rows import to_json
from gristmill.adapters.sqlite.file.writer import Turn
from gristmill.adapters.sqlite.state.sharing import find_sightings
from gristmill.adapters.sqlite.upkeep.sweeps.runs import remove_runs
from gristmill.adapters.sqlite.upkeep.sweeps.sweep import Moment, Round, uncount
from gristmill.domain.contribution import Join
from gristmill.domain.ids import IDS_PER_DAY, ItemId

__all__ = ["ItemSweep"]

ITEMS_PER_TURN = 50
"""Each takes some ten statements."""

LOOKED_MAX = 2_000
"""Items that one sweep looks at: each is asked for its runs, its group and its record."""

DAY_MS = 86_400_000

# Ids begin with their day, so nothing above the bound can be old enough.
OLD = "SELECT item_id FROM item WHERE item_id > ? AND item_id < ? ORDER BY item_id LIMIT ?"
IS_JUDGED = "SELECT EXISTS(SELECT 1 FROM label_fact WHERE item_id = ?)"
IS_IN_A_GROUP = """
SELECT EXISTS(SELECT 1 FROM space CROSS JOIN join_member USING(space_id)
    WHERE item_id = ? AND (parent <> 0 OR size > 1))
"""
RUNS = "SELECT run_row, position, body FROM run WHERE item_id = ?"
HAS_RECORD = "SELECT EXISTS(SELECT 1 FROM log WHERE position IN (SELECT value FROM json_each(?)))"
RUN_ROWS = "SELECT run_row FROM run WHERE item_id = ?"
GIVEN = "SELECT body FROM contribution WHERE item_id = ?"
SPACE = "SELECT space_id FROM space WHERE name = ?"
DELETE_KEY = "DELETE FROM join_key WHERE space_id = ? AND key = ? AND item_id = ?"
DELETE_MEMBER = "DELETE FROM join_member WHERE space_id = ? AND item_id = ?"
DELETE_SIGHTING = """
DELETE FROM sighting WHERE space_id = ? AND key = ? AND at_ms = ? AND position = ? AND item_id = ?
"""
# Numbers of events are never used again, so the highest one stays; it holds ids alone.
DELETE_EVENTS = "DELETE FROM event WHERE item_id = ? AND event_row < (SELECT max(event_row) FROM event)"
OF_ONE_ITEM = ("sent", "contribution", "item")


class ItemSweep:
    """Goes over the items from the oldest on, some a sweep, and begins anew when it has seen all old ones."""

    def __init__(self) -> None:
        self._round = Round()

    def begin(self) -> None:
        """Look at some more."""
        self._round.looked = 0

    def find(self, db: apsw.Connection, moment: Moment) -> Sequence[ItemId]:
        """Return items that may go."""
        age_ms = moment.rules.items_ms
        if not age_ms or moment.now_ms < self._round.rests_until_ms:
            return []
        bound_ms = moment.now_ms - age_ms
        found: list[ItemId] = []
        while not found and self._round.looked < LOOKED_MAX:
            bindings = (self._round.place, _first_id_after(bound_ms), ITEMS_PER_TURN)
            old = [ItemId(item_id) for (item_id,) in db.execute(OLD, bindings)]
            self._round.looked += len(old)
            if not old:
                self._round.end(moment)
                break
            self._round.place = old[-1]
            found = [item_id for item_id in old if _may_go(db, item_id, bound_ms)]
        return found

    def prepare(self, found: Sequence[ItemId], moment: Moment) -> None:
        """Nothing to do."""

    def remove(self, turn: Turn, found: Sequence[ItemId], moment: Moment) -> Counter[str]:
        """Delete those that still may go: one may have come again, joined a group or been judged meanwhile."""
        deleted: Counter[str] = Counter()
        bound_ms = moment.now_ms - moment.rules.items_ms
        for item_id in found:
            if _may_go(turn.db, item_id, bound_ms):
                deleted.update(_remove_item(turn, item_id))
        uncount(turn, Counter(items=deleted["item"]))
        return deleted


def _may_go(db: apsw.Connection, item_id: ItemId, bound_ms: int) -> bool:
    if db.execute(IS_JUDGED, (item_id,)).get or db.execute(IS_IN_A_GROUP, (item_id,)).get:
        return False
    runs: list[Any] = db.execute(RUNS, (item_id,)).fetchall()
    if not runs or any(unpack_ended_at(body) > bound_ms for _, _, body in runs):
        return False
    return not db.execute(HAS_RECORD, (to_json([position for _, position, _ in runs]),)).get


def _remove_item(turn: Turn, item_id: ItemId) -> Counter[str]:
    deleted = remove_runs(turn, [row for (row,) in turn.db.execute(RUN_ROWS, (item_id,))])
    given = turn.db.execute(GIVEN, (item_id,)).get
    if given is not None:
        deleted.update(_remove_shared(turn, item_id, unpack_contributed(given)))
    turn.db.execute(DELETE_EVENTS, (item_id,))
    deleted["event"] += turn.db.changes()
    for table in OF_ONE_ITEM:
        turn.db.execute(f"DELETE FROM {table} WHERE item_id = ?", (item_id,))
        deleted[table] += turn.db.changes()
    return deleted


def _remove_shared(turn: Turn, item_id: ItemId, given: Sequence[PlacedContribution]) -> Counter[str]:
    deleted: Counter[str] = Counter()

    def delete(table: str, sql: str, *bindings: Any) -> None:
        turn.db.execute(sql, bindings)
        deleted[table] += turn.db.changes()

    for placed in given:
        join = placed.contributed.contribution
        if isinstance(join, Join):
            space_id = turn.db.execute(SPACE, (join.space,)).get
            for key in join.keys:
                delete("join_key", DELETE_KEY, space_id, key, item_id)
            delete("join_member", DELETE_MEMBER, space_id, item_id)
    for space, *rest in find_sightings(item_id, given):
        delete("sighting", DELETE_SIGHTING, turn.db.execute(SPACE, (space,)).get, *rest)
    return deleted


def _first_id_after(at_ms: int) -> int:
    """Return the lowest id of the day after a moment, in whatever zone ids are dated."""
    day = datetime.fromtimestamp((at_ms + DAY_MS) / 1000, UTC)
    return (day.year * 10_000 + day.month * 100 + day.day) * IDS_PER_DAY
