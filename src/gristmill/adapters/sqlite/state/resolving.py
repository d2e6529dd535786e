"""Contributions as they stand at the moment of reading."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import apsw

from gristmill.adapters.packing import unpack_item
from gristmill.adapters.placed import PlacedContribution, slot_of, unpack_contributed
from gristmill.adapters.sqlite.file.rows import from_json, to_json
from gristmill.adapters.sqlite.state.forest import Node, find_root
from gristmill.adapters.sqlite.state.sharing import CHAINS, find_sightings
from gristmill.domain.contribution import Count, Join, Resolved
from gristmill.domain.ids import ItemId

__all__ = ["read_contributions"]

GIVEN = "SELECT item_id, body FROM contribution WHERE item_id IN (SELECT value FROM json_each(?))"
SPACES = "SELECT name, space_id FROM space"
COUNT_EARLIER = """
SELECT count(*) FROM (SELECT 1 FROM sighting WHERE space_id = ?1 AND key = ?2 AND at_ms > ?3 - ?4 AND at_ms <= ?3
    AND position < ?5 LIMIT ?6)
"""
BODIES = "SELECT item_id, body FROM item WHERE item_id IN (SELECT value FROM json_each(?))"


def read_contributions(db: apsw.Connection, item_ids: Sequence[ItemId]) -> dict[ItemId, list[Resolved]]:
    """Return the contributions of items, ordered by kind, space and task; items without any are absent."""
    given = {
        ItemId(item_id): sorted(unpack_contributed(body), key=lambda placed: slot_of(placed.contributed))
        for item_id, body in db.execute(GIVEN, (to_json(list(item_ids)),))
    }
    spaces: dict[str, int] = dict(db.execute(SPACES))
    roots = _roots(db, spaces, given)
    leaders = _input_ids(db, {root.leader for root in roots.values()})
    resolved: dict[ItemId, list[Resolved]] = {}
    for item_id, contributions in given.items():
        own = {(space, key): place for space, key, _, place, _ in find_sightings(item_id, contributions)}
        resolved[item_id] = []
        for placed in contributions:
            shared = placed.contributed.contribution
            if isinstance(shared, Join):
                root = roots[shared.space, item_id]
                one = _resolved(placed, size=root.size, leader=root.leader, input_id=leaders.get(root.leader, ""))
            else:
                one = _resolved(placed, size=_count(db, spaces[shared.space], shared, own[shared.space, shared.key]))
            resolved[item_id].append(one)
    return resolved


def _resolved(placed: PlacedContribution, *, size: int, leader: ItemId | None = None, input_id: str = "") -> Resolved:
    contributed = placed.contributed
    return Resolved(
        contribution=contributed.contribution,
        leader=leader,
        leader_input_id=input_id,
        size=size,
        task=contributed.task,
        operator=contributed.operator,
        revision=contributed.revision,
    )


def _count(db: apsw.Connection, space_id: int, count: Count, position: int) -> int:
    """Return the sightings up to and including the item, at most the threshold."""
    bindings = (space_id, count.key, count.at_ms, count.window_ms, position, max(count.threshold, 1) - 1)
    return int(db.execute(COUNT_EARLIER, bindings).get) + 1


def _roots(
    db: apsw.Connection, spaces: Mapping[str, int], given: Mapping[ItemId, Iterable[PlacedContribution]]
) -> dict[tuple[str, ItemId], Node]:
    members: defaultdict[str, set[ItemId]] = defaultdict(set)
    for item_id, contributions in given.items():
        for placed in contributions:
            if isinstance(placed.contributed.contribution, Join):
                members[placed.contributed.contribution.space].add(item_id)
    roots: dict[tuple[str, ItemId], Node] = {}
    for space, items in members.items():
        rows = from_json(db.execute(CHAINS, (spaces[space], to_json(sorted(items)))).get)
        forest = {row[0]: Node(*row) for row in rows}
        roots.update(((space, item_id), find_root(forest, item_id)) for item_id in items)
    return roots


def _input_ids(db: apsw.Connection, item_ids: set[ItemId]) -> dict[ItemId, str]:
    rows = db.execute(BODIES, (to_json(sorted(item_ids)),))
    return {ItemId(item_id): unpack_item(body).input_id for item_id, body in rows}
