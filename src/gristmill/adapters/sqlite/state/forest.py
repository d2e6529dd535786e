"""Disjoint sets as a forest of items: who belongs to which group, how large it is, who leads it. No IO."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from gristmill.domain.ids import ItemId

__all__ = ["Node", "find_root", "unite_groups"]

NO_PARENT = ItemId(0)


class Node(msgspec.Struct, array_like=True):
    """An item in one space. Only a root (parent 0) speaks for its group.

    Attributes:
        size: members of the group.
        leader: the member with the lowest (position, item id).
    """

    item_id: ItemId
    parent: ItemId
    size: int
    leader_position: int
    leader: ItemId


def find_root(forest: dict[ItemId, Node], item_id: ItemId) -> Node:
    """Return the root above an item. The smaller group always hangs below, so chains are at most log2(size) long."""
    node = forest[item_id]
    while node.parent != NO_PARENT:
        node = forest[node.parent]
    return node


def unite_groups(
    forest: dict[ItemId, Node],
    members: Iterable[tuple[ItemId, int]],
    ties: Iterable[tuple[ItemId, ItemId]],
) -> list[Node]:
    """Add members with their positions, join what is tied, and return the nodes that changed.

    `forest` must hold the chains of all items named that are members already.
    """
    changed: dict[ItemId, Node] = {}
    for item_id, position in members:
        if item_id not in forest:
            forest[item_id] = changed[item_id] = Node(item_id, NO_PARENT, 1, position, item_id)
        root = find_root(forest, item_id)
        if (position, item_id) < (root.leader_position, root.leader):
            root.leader_position, root.leader = position, item_id
            changed[root.item_id] = root
    for one, other in ties:
        big, small = find_root(forest, one), find_root(forest, other)
        if big is small:
            continue
        if big.size < small.size:
            big, small = small, big
        small.parent = big.item_id
        big.size += small.size
        if (small.leader_position, small.leader) < (big.leader_position, big.leader):
            big.leader_position, big.leader = small.leader_position, small.leader
        changed[big.item_id], changed[small.item_id] = big, small
    return list(changed.values())
