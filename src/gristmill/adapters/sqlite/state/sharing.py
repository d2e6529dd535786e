"""Contributions in SQLite: which items share keys, and how often a key was seen.

What is stored depends on the set of contributions alone, not on the order of commits: an item's place is its lowest
position, what it contributed is what its lowest position said, keys add up.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import msgspec

from gristmill.adapters.packing import pack
from gristmill.adapters.placed import PlacedContribution, slot_of, unpack_contributed
from gristmill.adapters.sqlite.file.rows import from_json, to_json, write_rows
from gristmill.adapters.sqlite.file.writer import Turn
from gristmill.adapters.sqlite.state.forest import Node, unite_groups
from gristmill.adapters.sqlite.state.packed import PackedRun
from gristmill.domain.contribution import Join
from gristmill.domain.ids import ItemId

__all__ = ["CHAINS", "contribute", "find_sightings"]

Slots = dict[tuple[str, ...], PlacedContribution]
Sighting = tuple[str, str, int, int, ItemId]
"""(space, key, at_ms, position, item id)"""

READ_GIVEN = "SELECT item_id, body FROM contribution WHERE item_id IN (SELECT value FROM json_each(?))"
COUNT_GIVEN = "SELECT count(*) FROM contribution WHERE item_id IN (SELECT value FROM json_each(?))"
WRITE_GIVEN = """
INSERT OR REPLACE INTO contribution(item_id, body) SELECT * FROM {rows}
"""
INSERT_SIGHTINGS = """
INSERT OR IGNORE INTO sighting(space_id, key, at_ms, position, item_id) SELECT * FROM {rows}
"""
DELETE_SIGHTING = """
DELETE FROM sighting WHERE space_id = ? AND key = ? AND at_ms = ? AND position = ? AND item_id = ?
"""
HOLDERS = """
SELECT json_group_array(json_array(key, item_id)) FROM join_key
WHERE space_id = ?1 AND key IN (SELECT value FROM json_each(?2))
"""
INSERT_KEYS = "INSERT INTO join_key(space_id, key, item_id) SELECT ?1, * FROM {rows}"
CHAINS = """
WITH RECURSIVE up(item_id) AS (
    SELECT value FROM json_each(?2)
    UNION
    SELECT parent FROM up CROSS JOIN join_member m ON m.space_id = ?1 AND m.item_id = up.item_id WHERE parent <> 0)
SELECT json_group_array(json_array(m.item_id, parent, size, leader_position, leader))
FROM up CROSS JOIN join_member m ON m.space_id = ?1 AND m.item_id = up.item_id
"""
WRITE_MEMBERS = """
INSERT OR REPLACE INTO join_member(space_id, item_id, parent, size, leader_position, leader)
SELECT ?1, * FROM {rows}
"""


def contribute(turn: Turn, runs: Sequence[PackedRun]) -> None:
    """Take the contributions of runs in; the same ones again change nothing."""
    given: defaultdict[ItemId, list[PlacedContribution]] = defaultdict(list)
    for run in runs:
        if run.commit.contributions:
            given[run.commit.item.item_id] += run.contributions()
    if not given:
        return
    before = _read_given(turn, given)
    after = {item_id: _merge(before.get(item_id, {}), placed) for item_id, placed in given.items()}
    _write_given(turn, {item_id: slots for item_id, slots in after.items() if slots != before.get(item_id)})
    _write_sightings(turn, before, after)
    for space, joins in _joins_by_space(given).items():
        _join(turn, turn.names.space(space), joins)


def _merge(before: Mapping[tuple[str, ...], PlacedContribution], placed: Iterable[PlacedContribution]) -> Slots:
    """Return what an item contributes after more of it is known: the lowest position decides each slot."""
    slots = dict(before)
    for one in placed:
        slot = slot_of(one.contributed)
        if slot not in slots or one.position < slots[slot].position:
            slots[slot] = one
    return slots


def find_sightings(item_id: ItemId, contributions: Iterable[PlacedContribution]) -> list[Sighting]:
    """Return one sighting for each key that an item counts, at its lowest position."""
    lowest: dict[tuple[str, str], tuple[int, int]] = {}
    for placed in contributions:
        count = placed.contributed.contribution
        if not isinstance(count, Join):
            place = (placed.position, count.at_ms)
            lowest[count.space, count.key] = min(lowest.get((count.space, count.key), place), place)
    return [(space, key, at_ms, position, item_id) for (space, key), (position, at_ms) in lowest.items()]


def _read_given(turn: Turn, given: Iterable[ItemId]) -> dict[ItemId, Slots]:
    item_ids = to_json(list(given))
    if not turn.db.execute(COUNT_GIVEN, (item_ids,)).get:
        return {}
    return {
        ItemId(item_id): _merge({}, unpack_contributed(body))
        for item_id, body in turn.db.execute(READ_GIVEN, (item_ids,))
    }


def _write_given(turn: Turn, changed: Mapping[ItemId, Slots]) -> None:
    if changed:
        rows: list[Any] = []
        for item_id, slots in changed.items():
            rows += (item_id, pack(list(slots.values())))
        write_rows(turn.db, WRITE_GIVEN, rows, width=2)


def _write_sightings(turn: Turn, before: Mapping[ItemId, Slots], after: Mapping[ItemId, Slots]) -> None:
    """Keep one sighting for each item and key, the one of its lowest position."""
    old = {sighting for item_id, slots in before.items() for sighting in find_sightings(item_id, slots.values())}
    new = {sighting for item_id, slots in after.items() for sighting in find_sightings(item_id, slots.values())}
    for space, *rest in sorted(old - new):
        turn.db.execute(DELETE_SIGHTING, (turn.names.space(space), *rest))
    rows: list[Any] = []
    for space, *rest in sorted(new - old):
        rows += (turn.names.space(space), *rest)
    write_rows(turn.db, INSERT_SIGHTINGS, rows, width=5)


def _joins_by_space(
    given: Mapping[ItemId, Sequence[PlacedContribution]],
) -> dict[str, list[tuple[ItemId, int, tuple[str, ...]]]]:
    """Return (item, position, keys) of every Join, by space."""
    joins: defaultdict[str, list[tuple[ItemId, int, tuple[str, ...]]]] = defaultdict(list)
    for item_id, placed in given.items():
        for one in placed:
            join = one.contributed.contribution
            if isinstance(join, Join):
                joins[join.space].append((item_id, one.position, join.keys))
    return joins


def _join(turn: Turn, space_id: int, joins: Sequence[tuple[ItemId, int, tuple[str, ...]]]) -> None:
    keys = {key for _, _, of_item in joins for key in of_item}
    holders: dict[str, ItemId] = dict(from_json(turn.db.execute(HOLDERS, (space_id, to_json(keys))).get))
    new_keys: dict[str, ItemId] = {}
    ties: dict[tuple[ItemId, ItemId], None] = {}
    for item_id, _, of_item in joins:
        for key in of_item:
            holder = holders.get(key)
            if holder is None:
                holders[key] = new_keys[key] = item_id
            elif holder != item_id:
                # Whoever shares one key mostly shares several, so a tie is found more than once.
                ties[item_id, holder] = None
    items = sorted({item_id for item_id, _, _ in joins} | {holder for _, holder in ties})
    rows = from_json(turn.db.execute(CHAINS, (space_id, to_json(items))).get)
    forest = {row[0]: Node(*row) for row in rows}
    changed = unite_groups(forest, [(item_id, position) for item_id, position, _ in joins], ties)
    write_rows(turn.db, INSERT_KEYS, list(chain.from_iterable(new_keys.items())), width=2, constants=(space_id,))
    members = list(chain.from_iterable(msgspec.structs.astuple(node) for node in changed))
    write_rows(turn.db, WRITE_MEMBERS, members, width=5, constants=(space_id,))
