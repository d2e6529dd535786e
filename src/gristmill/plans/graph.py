"""The one intermediate graph that every front end compiles to.

Data edges and order edges are kept apart. Edges of a node, all by node index:

    requires   data; the producer's Skip skips this node, its failure stops it
    prefers    data, optional; a Skip of the producer itself or a fail-open gives None,
               a Skip that reached the producer through `after` skips this node as well
    after      order; the other's Skip skips this node, and that Skip goes on through every kind of edge
               but `after_any`
    after_any  order only
"""

from __future__ import annotations

from typing import Any

import msgspec

from gristmill.plans.operator import Operator
from gristmill.plans.resources import Need

__all__ = ["FIRST_NODE_SLOT", "SLOT_ITEM", "SLOT_NONE", "SLOT_SCOPE", "Graph", "Node"]

SLOT_ITEM = 0
SLOT_SCOPE = 1
SLOT_NONE = 2
FIRST_NODE_SLOT = 3
"""Slots of a Run: item, scope, None, then one per node for its result, then one per resource."""


class Node(msgspec.Struct, frozen=True, eq=False):
    """A Task in a compiled graph.

    Attributes:
        arguments: slot index of each positional argument, in the order of the function's parameters.
        successors: nodes that have this one among their predecessors, in index order.
        predecessor_count: distinct predecessors over all kinds of edges.
    """

    index: int
    name: str
    operator: Operator
    config: dict[str, Any]
    arguments: tuple[int, ...]
    requires: tuple[int, ...]
    prefers: tuple[int, ...]
    after: tuple[int, ...]
    after_any: tuple[int, ...]
    successors: tuple[int, ...]
    predecessor_count: int
    finally_: bool

    @property
    def result_slot(self) -> int:
        return FIRST_NODE_SLOT + self.index


class Graph(msgspec.Struct, frozen=True, eq=False):
    """A checked plan: nodes in a topological order; resources in slot order after the nodes' slots."""

    key: str
    version: int
    nodes: tuple[Node, ...]
    needs: tuple[Need, ...]
