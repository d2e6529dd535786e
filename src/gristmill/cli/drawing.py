"""Draws a plan as text: tasks in layers, each with what it waits for."""

from __future__ import annotations

from gristmill.plans.graph import Graph, Node
from gristmill.plans.registry import RegisteredPlan

__all__ = ["draw_graph"]


def draw_graph(plan: RegisteredPlan) -> str:
    """Return the graph of a plan, one task a line.

    A task stands in the first layer in which all it waits for has its result. On the right: `x` data, `x?` data that
    may be missing, `after x` order that spreads a skip, `after-any x` order alone.
    """
    graph = plan.graph
    layers = _layers(graph)
    width = max(len(node.name) for node in graph.nodes)
    lines = [f"plan {graph.key}, version {graph.version}, flow {plan.flow}, writes {plan.writes}"]
    for depth in range(max(layers) + 1):
        members = [node for node, layer in zip(graph.nodes, layers, strict=True) if layer == depth]
        for index, node in enumerate(members):
            bracket = _bracket(index, len(members))
            lines.append(f"  {bracket} {node.name:<{width}}{_waits_for(graph, node)}{_describe(node)}".rstrip())
        if depth < max(layers):
            lines.append("  ▼")
    if graph.needs:
        lines.append("needs " + ", ".join(f"{need.port.__name__} {need.role!r}" for need in graph.needs))
    return "\n".join(lines)


def _layers(graph: Graph) -> list[int]:
    layers: list[int] = []
    for node in graph.nodes:
        before = [*node.requires, *node.prefers, *node.after, *node.after_any]
        layers.append(max((layers[index] + 1 for index in before), default=0))
    return layers


def _bracket(index: int, count: int) -> str:
    if count == 1:
        return "─"
    return "┌" if index == 0 else "└" if index == count - 1 else "├"


def _describe(node: Node) -> str:
    options = node.operator.options
    parts = [] if node.operator.name == node.name else [node.operator.name]
    if options.revision != "1":
        parts.append(f"revision {options.revision}")
    if node.operator.runs != "inline":
        parts.append(node.operator.runs)
    if options.on_error != "fail":
        parts.append(options.on_error)
    if options.sink:
        parts.append("sink")
    if node.finally_:
        parts.append("finally")
    return f"  [{', '.join(parts)}]" if parts else ""


def _waits_for(graph: Graph, node: Node) -> str:
    names = [other.name for other in graph.nodes]
    waits = [
        *(names[index] for index in node.requires),
        *(f"{names[index]}?" for index in node.prefers),
        *(f"after {names[index]}" for index in node.after),
        *(f"after-any {names[index]}" for index in node.after_any),
    ]
    return f"  ◀ {', '.join(waits)}" if waits else ""
