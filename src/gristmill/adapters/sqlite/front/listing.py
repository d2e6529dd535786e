"""Lists of items over one SQLite file, by the order of their ids, which costs no index of its own."""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from gristmill.adapters.checks import check_limit, check_run_id
from gristmill.adapters.packing import unpack_item
from gristmill.adapters.sqlite.file.reader import Reader
from gristmill.adapters.sqlite.file.rows import to_json
from gristmill.adapters.sqlite.state.reading import read_runs
from gristmill.domain.commit import StoredRun
from gristmill.domain.ids import ItemId, RunId
from gristmill.domain.item import Item
from gristmill.domain.log import Hold
from gristmill.ports.front import ITEMS_PER_READ_MAX, MEMBERS_SCANNED_MAX, RUNS_SCANNED_MAX

__all__ = ["SqliteListing"]

NO_BOUND = (1 << 63) - 1
LISTED_BYTES_MAX = 4 * 1024 * 1024
"""Of items that are read together: a text of a mebibyte is an item, too."""

ITEMS = "SELECT body FROM item WHERE item_id < ? ORDER BY item_id DESC LIMIT ?"
ITEMS_OF = "SELECT body FROM item WHERE item_id IN (SELECT value FROM json_each(?)) ORDER BY item_id DESC"
RUN_AMONG_OPEN = "SELECT item_id FROM run INDEXED BY run_open WHERE is_open AND run_id = ?"
RUN_AMONG_NEWEST = """
SELECT item_id FROM run WHERE run_row IN (
    SELECT run_row FROM (
        SELECT run_row, run_id FROM run INDEXED BY run_by_position WHERE generator_id = ?1
        ORDER BY position DESC LIMIT ?3)
    WHERE run_id = ?2)
"""
GROUP = "SELECT grp_id, cursor FROM grp JOIN topic USING(topic_id) WHERE topic.name = ? AND grp.name = ?"
HELD = """
SELECT ifnull(owner.name, ''), attempt, visible_at_ms FROM lease LEFT JOIN owner USING(owner_id)
WHERE grp_id = ? AND position = ?
"""
FRESH = "SELECT '', 0, due_at_ms FROM log JOIN topic USING(topic_id) WHERE position = ? AND topic.name = ?"
SPACE = "SELECT space_id FROM space WHERE name = ?"
GENERATORS = "SELECT generator_id FROM generator ORDER BY generator_id"
MEMBERS = """
SELECT item_id, parent FROM join_member WHERE space_id = ? ORDER BY item_id DESC LIMIT ?
"""
PARENT = "SELECT parent FROM join_member WHERE space_id = ? AND item_id = ?"


class SqliteListing:
    """See `ports.front.Listing`."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    async def items_before(self, item_id: ItemId | None, *, limit: int) -> list[Item]:
        """Return up to `limit` items with a lower id, the highest first."""
        check_limit(limit, most=ITEMS_PER_READ_MAX)
        below = NO_BOUND if item_id is None else item_id
        return await self._reader.do(lambda db: _read_items(db, below, limit))

    async def runs_of(self, item_ids: Sequence[ItemId]) -> dict[ItemId, list[StoredRun]]:
        """Return all runs of items, oldest position first."""
        check_limit(max(1, len(item_ids)), most=ITEMS_PER_READ_MAX)
        return await self._reader.do(lambda db: read_runs(db, item_ids))

    async def items_of(self, item_ids: Sequence[ItemId]) -> list[Item]:
        """Return the newest revisions of items, the highest id first."""
        check_limit(max(1, len(item_ids)), most=ITEMS_PER_READ_MAX)
        wanted = to_json(list(item_ids))
        return await self._reader.do(lambda db: [unpack_item(body) for (body,) in db.execute(ITEMS_OF, (wanted,))])

    async def item_of_run(self, run_id: RunId) -> ItemId | None:
        """Return the item of a run that is not too old."""
        check_run_id(run_id)
        return await self._reader.do(lambda db: _find_item(db, bytes.fromhex(run_id)))

    async def hold_of(self, topic: str, group: str, offset: int) -> Hold | None:
        """Return where a record stands for a group."""
        return await self._reader.do(lambda db: _find_hold(db, topic, group, offset))

    async def peers_of(self, item_id: ItemId, *, space: str, limit: int) -> list[ItemId]:
        """Return other members of an item's group, the highest id first."""
        check_limit(limit, most=ITEMS_PER_READ_MAX)
        return await self._reader.do(lambda db: _find_peers(db, item_id, space)[:limit])


def _read_items(db: apsw.Connection, below: int, limit: int) -> list[Item]:
    items: list[Item] = []
    size = 0
    for (body,) in db.execute(ITEMS, (below, limit)):
        items.append(unpack_item(body))
        size += len(body)
        if size >= LISTED_BYTES_MAX:
            break
    return items


def _find_item(db: apsw.Connection, run_id: bytes) -> ItemId | None:
    found = db.execute(RUN_AMONG_OPEN, (run_id,)).get
    for (generator_id,) in db.execute(GENERATORS).fetchall():
        found = found or db.execute(RUN_AMONG_NEWEST, (generator_id, run_id, RUNS_SCANNED_MAX)).get
    return None if found is None else ItemId(found)


def _find_hold(db: apsw.Connection, topic: str, group: str, offset: int) -> Hold | None:
    grp_id, cursor = db.execute(GROUP, (topic, group)).get or (0, 0)
    # Records behind the cursor have a row as long as the group is not done with them.
    query, bindings = (FRESH, (offset, topic)) if offset > cursor else (HELD, (grp_id, offset))
    found = db.execute(query, bindings).get
    return None if found is None else Hold(*found)


def _find_peers(db: apsw.Connection, item_id: ItemId, space: str) -> list[ItemId]:
    space_id = db.execute(SPACE, (space,)).get
    if space_id is None or db.execute(PARENT, (space_id, item_id)).get is None:
        return []
    parents: dict[int, int] = dict(db.execute(MEMBERS, (space_id, MEMBERS_SCANNED_MAX)))
    newest = list(parents)

    def root_of(member: int) -> int:
        while True:
            if member not in parents:
                parents[member] = db.execute(PARENT, (space_id, member)).get
            if not parents[member]:
                return member
            member = parents[member]

    root = root_of(item_id)
    return [ItemId(member) for member in newest if member != item_id and root_of(member) == root]
