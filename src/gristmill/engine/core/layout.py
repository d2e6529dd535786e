"""A graph as the marking needs it: integers only, computed once for each plan.

Every edge carries three answers, one for each way in which its first node can end without a result:

    missing   it was done without result, failed open, failed, ended the Run, or was never started
    skipped   it skipped itself, lacked required data, or failed and counts as skipped
    gated     it was skipped because a task that it was placed after was skipped

An answer is what that means for the second node: `FREE` (it may run), `BLOCKED` (skip it: data is missing) or
`GATED` (skip it, and everything placed after it). The strongest answer over all edges counts.
"""

from __future__ import annotations

import msgspec

from gristmill.plans.graph import Graph, Node

__all__ = ["BLOCKED", "FREE", "GATED", "Edge", "Layout"]

FREE = 0
BLOCKED = 1
GATED = 2


class Edge(msgspec.Struct, frozen=True):
    """What the end of one node means for one of its successors."""

    successor: int
    missing: int
    skipped: int
    gated: int


class Layout:
    """The unchanging part of all markings of one plan."""

    def __init__(self, graph: Graph) -> None:
        nodes = graph.nodes
        self.names: tuple[str, ...] = tuple(node.name for node in nodes)
        self.on_errors: tuple[str, ...] = tuple(node.operator.options.on_error for node in nodes)
        self.finally_: tuple[bool, ...] = tuple(node.finally_ for node in nodes)
        self.successors: tuple[tuple[int, ...], ...] = tuple(node.successors for node in nodes)
        self.edges: tuple[tuple[Edge, ...], ...] = tuple(
            tuple(_read_edge(node.index, nodes[successor]) for successor in node.successors) for node in nodes
        )
        self.open_counts: list[int] = [node.predecessor_count for node in nodes]
        self.roots: tuple[int, ...] = tuple(node.index for node in nodes if not node.predecessor_count)


def _read_edge(index: int, successor: Node) -> Edge:
    requires, prefers, after = (index in kind for kind in (successor.requires, successor.prefers, successor.after))
    missing = BLOCKED if requires else FREE
    return Edge(
        successor=successor.index,
        missing=missing,
        skipped=GATED if after else missing,
        gated=GATED if requires or prefers or after else FREE,
    )
