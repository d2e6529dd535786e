"""Small graphs, given by their edges instead of by tasks that have them."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from gristmill.plans.graph import SLOT_ITEM, Graph, Node
from gristmill.plans.operator import Operator, Options

ON_ERRORS = ("fail", "skip", "fail_open", "fail_closed", "fail_closed:held")


def gate() -> None:
    """Do nothing."""


OPERATORS = {on_error: Operator(gate, Options(on_error=on_error)) for on_error in ON_ERRORS}


def build_node(
    index: int,
    *,
    requires: Iterable[int] = (),
    prefers: Iterable[int] = (),
    after: Iterable[int] = (),
    after_any: Iterable[int] = (),
    finally_: bool = False,
    on_error: str = "fail",
) -> Node:
    """Return node `index`, named `t<index>`; `build_graph` fills in its successors."""
    predecessors = {*requires, *prefers, *after, *after_any}
    return Node(
        index=index,
        name=f"t{index}",
        operator=OPERATORS[on_error],
        config={},
        arguments=(SLOT_ITEM,),
        requires=tuple(sorted(requires)),
        prefers=tuple(sorted(prefers)),
        after=tuple(sorted(after)),
        after_any=tuple(sorted(after_any)),
        successors=(),
        predecessor_count=len(predecessors),
        finally_=finally_,
    )


def build_graph(nodes: list[Node]) -> Graph:
    """Return the graph of nodes that know their predecessors."""
    successors: dict[int, set[int]] = {node.index: set() for node in nodes}
    for node in nodes:
        for predecessor in (*node.requires, *node.prefers, *node.after, *node.after_any):
            successors[predecessor].add(node.index)
    linked = [msgspec.structs.replace(node, successors=tuple(sorted(successors[node.index]))) for node in nodes]
    return Graph(key="plan", version=1, nodes=tuple(linked), needs=())
