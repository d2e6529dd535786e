"""Contributions in memory: which items share keys, and how often a key was seen.

Everything here depends on the set of contributions alone, not on the order in which they were committed:
an item's place is its lowest position, what it contributed is what its lowest position said, keys add up.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

from gristmill.adapters.placed import PlacedContribution, slot_of
from gristmill.domain.contribution import Count, Join, Resolved
from gristmill.domain.ids import ItemId

__all__ = ["Sharing"]


class _Member:
    """An item in the groups of one space; a root also knows its group's size and leader `(position, item id)`."""

    __slots__ = ("leader", "parent", "size")

    def __init__(self, place: tuple[int, ItemId]) -> None:
        self.parent: _Member | None = None
        self.size = 1
        self.leader = place

    def root(self) -> _Member:
        member = self
        while member.parent is not None:
            member = member.parent
        return member


class Sharing:
    """All contributions of one store."""

    def __init__(self) -> None:
        self._given: dict[ItemId, dict[tuple[str, ...], PlacedContribution]] = {}
        self._members: dict[tuple[str, ItemId], _Member] = {}
        self._key_holders: dict[tuple[str, str], _Member] = {}
        self._sightings: defaultdict[tuple[str, str], dict[ItemId, tuple[int, int]]] = defaultdict(dict)

    def add(self, item_id: ItemId, placed: PlacedContribution) -> None:
        """Take a contribution in; the same one again changes nothing."""
        given = self._given.setdefault(item_id, {})
        slot = slot_of(placed.contributed)
        if slot not in given or placed.position < given[slot].position:
            given[slot] = placed
        contribution = placed.contributed.contribution
        if isinstance(contribution, Join):
            self._join(item_id, contribution, placed.position)
            return
        seen = self._sightings[contribution.space, contribution.key]
        place = (placed.position, contribution.at_ms)
        seen[item_id] = min(seen.get(item_id, place), place)

    def resolved(self, item_id: ItemId, input_id_of: Callable[[ItemId], str]) -> list[Resolved]:
        """Return the contributions of an item as they stand now; `input_id_of` names the leaders."""
        given = self._given.get(item_id, {})
        return [self._resolve(item_id, given[slot], input_id_of) for slot in sorted(given)]

    def peers(self, item_id: ItemId, space: str) -> list[ItemId]:
        """Return the other members of an item's group, the highest id first."""
        own = self._members.get((space, item_id))
        if own is None:
            return []
        group = [other for (where, other), one in self._members.items() if where == space and one.root() is own.root()]
        return sorted((other for other in group if other != item_id), reverse=True)

    def _join(self, item_id: ItemId, join: Join, position: int) -> None:
        member = self._members.get((join.space, item_id))
        if member is None:
            member = self._members[join.space, item_id] = _Member((position, item_id))
        root = member.root()
        root.leader = min(root.leader, (position, item_id))
        for key in join.keys:
            holder = self._key_holders.setdefault((join.space, key), member)
            root = _unite(root, holder.root())

    def _resolve(self, item_id: ItemId, placed: PlacedContribution, input_id_of: Callable[[ItemId], str]) -> Resolved:
        contributed = placed.contributed
        contribution = contributed.contribution
        leader: ItemId | None = None
        if isinstance(contribution, Join):
            root = self._members[contribution.space, item_id].root()
            size, leader = root.size, root.leader[1]
        else:
            size = self._count(item_id, contribution)
        return Resolved(
            contribution=contribution,
            leader=leader,
            leader_input_id="" if leader is None else input_id_of(leader),
            size=size,
            task=contributed.task,
            operator=contributed.operator,
            revision=contributed.revision,
        )

    def _count(self, item_id: ItemId, count: Count) -> int:
        seen = self._sightings[count.space, count.key]
        own_position = seen[item_id][0]
        first_ms = count.at_ms - count.window_ms
        earlier = sum(position < own_position and first_ms < at_ms <= count.at_ms for position, at_ms in seen.values())
        return min(earlier + 1, max(count.threshold, 1))


def _unite(one: _Member, other: _Member) -> _Member:
    """Join two groups and return the root; the smaller one hangs below, so chains stay short."""
    if one is other:
        return one
    root, branch = (one, other) if one.size >= other.size else (other, one)
    branch.parent = root
    root.size += branch.size
    root.leader = min(root.leader, branch.leader)
    return root
