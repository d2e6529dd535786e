"""Runs the tasks of a plan one after the other, as a Run does, without an engine."""

from __future__ import annotations

from typing import Any

from gristmill import Item, Plan, Skip
from gristmill.domain.ids import ItemId, RunId
from gristmill.engine.run.scope import Scope
from gristmill.plans.compile import compile_plan
from gristmill.plans.graph import Graph

__all__ = ["compile_for", "run_graph"]


def compile_for(plan: Plan) -> Graph:
    return compile_plan(plan)


def run_graph(graph: Graph, text: str, *, resources: tuple[object, ...] = (), **fields: Any) -> dict[str, Any]:
    """Return the result of every task by task name; None for one that was skipped, as all about pictures are here."""
    item = Item(ItemId(1), text=text, **fields)
    slots: list[Any] = [item, Scope(RunId("test"), "test"), None, *[None] * len(graph.nodes), *resources]
    skipped: set[int] = set()
    for node in graph.nodes:
        if not skipped.isdisjoint(node.requires):
            skipped.add(node.index)
            continue
        arguments = (slots[index] for index in node.arguments)
        result = node.operator.function(*arguments, **node.config)
        if isinstance(result, Skip):
            skipped.add(node.index)
        else:
            slots[node.result_slot] = result
    return {node.name: slots[node.result_slot] for node in graph.nodes}
