"""Compiles a Plan into its Graph and refuses what could go wrong later, naming culprit and way out."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from typing import Any

import msgspec

from gristmill.domain.errors import ConfigError
from gristmill.plans.graph import FIRST_NODE_SLOT, SLOT_ITEM, SLOT_NONE, SLOT_SCOPE, Graph, Node
from gristmill.plans.names import advise_known
from gristmill.plans.operator import Operator
from gristmill.plans.placement import Anchor, Placement
from gristmill.plans.plan import Plan
from gristmill.plans.resources import Need
from gristmill.plans.signature import Parameter

__all__ = ["compile_plan"]


class _Edges(msgspec.Struct):
    """Edges of one placement by Task name, in the order they were found; and what fills each parameter."""

    requires: list[str] = []
    prefers: list[str] = []
    after: list[str] = []
    after_any: list[str] = []
    fillers: list[str | Need | int] = []

    def predecessors(self) -> list[str]:
        return list(dict.fromkeys([*self.requires, *self.prefers, *self.after, *self.after_any]))


def compile_plan(plan: Plan) -> Graph:
    """Return the graph of a plan.

    Raises:
        ConfigError: no task, a name used twice, an unknown, missing or ambiguous producer, a cycle, or
            something that only durable plans can do.
    """
    if not plan.placements:
        raise ConfigError(f"plan {plan.key!r} has no task", advice="tasks=[...]")
    _refuse_durable(plan)
    placements = _index_by_name(plan)
    edges = {name: _read_edges(plan, placement, placements) for name, placement in placements.items()}
    order = _sort(plan, edges)
    needs = list(dict.fromkeys(f for name in order for f in edges[name].fillers if isinstance(f, Need)))
    index_of = {name: index for index, name in enumerate(order)}
    successors: dict[str, list[int]] = {name: [] for name in order}
    for name in order:
        for predecessor in edges[name].predecessors():
            successors[predecessor].append(index_of[name])
    nodes = tuple(
        _build_node(placements[name], edges[name], index_of, needs, tuple(sorted(successors[name]))) for name in order
    )
    return Graph(key=plan.key, version=plan.version, nodes=nodes, needs=tuple(needs))


def _refuse_durable(plan: Plan) -> None:
    if plan.durable:
        advice = "durable runs do not exist yet; declare durable=False"
        raise ConfigError(f"plan {plan.key!r} is durable", advice=advice)
    for placement in plan.placements:
        if placement.operator.needs_durable:
            advice = "Park, on_error='park' and on_error='hold' need durable runs, which do not exist yet"
            raise ConfigError(f"task {placement.name!r} of plan {plan.key!r} may park its run", advice=advice)


def _index_by_name(plan: Plan) -> dict[str, Placement]:
    placements: dict[str, Placement] = {}
    for placement in plan.placements:
        if placement.name in placements:
            advice = f"place it as {placement.operator.name}.use(name=...)"
            raise ConfigError(f"plan {plan.key!r} has two tasks of one name", value=placement.name, advice=advice)
        placements[placement.name] = placement
    return placements


def _read_edges(plan: Plan, placement: Placement, placements: dict[str, Placement]) -> _Edges:
    edges = _Edges()
    known = {parameter.name for parameter in placement.operator.parameters if parameter.source == "result"}
    for bound in placement.bind:
        if bound not in known:
            thing = f"bind of task {placement.name!r} in plan {plan.key!r}"
            raise ConfigError(thing, value=bound, advice=advise_known(bound, known))
    for parameter in placement.operator.parameters:
        match parameter.source:
            case "item":
                edges.fillers.append(SLOT_ITEM)
            case "scope":
                edges.fillers.append(SLOT_SCOPE)
            case "resource":
                edges.fillers.append(parameter.wanted)
            case "result":
                _read_data_edge(plan, placement, parameter, placements, edges)
    edges.after = [_find(plan, placement, anchor, placements) for anchor in placement.after]
    edges.after_any = [_find(plan, placement, anchor, placements) for anchor in placement.after_any]
    return edges


def _read_data_edge(
    plan: Plan, placement: Placement, parameter: Parameter, placements: dict[str, Placement], edges: _Edges
) -> None:
    producer = _choose_producer(plan, placement, parameter, placements)
    if producer is None:
        edges.fillers.append(SLOT_NONE)
        return
    edges.fillers.append(producer)
    (edges.prefers if parameter.optional else edges.requires).append(producer)


def _choose_producer(
    plan: Plan, placement: Placement, parameter: Parameter, placements: dict[str, Placement]
) -> str | None:
    wanted: type = parameter.wanted
    where = f"parameter {parameter.name!r} of task {placement.name!r} in plan {plan.key!r}"
    if parameter.name in placement.bind:
        bound = _find(plan, placement, placement.bind[parameter.name], placements)
        if placements[bound].operator.result is not wanted:
            raise ConfigError(f"{where} is bound to a task that does not give {wanted.__name__}", value=bound)
        return bound
    producers = [name for name, other in placements.items() if other.operator.result is wanted]
    if len(producers) == 1:
        return producers[0]
    if producers:
        advice = f"choose one with bind={{{parameter.name!r}: ...}}"
        raise ConfigError(f"{where}: several tasks give {wanted.__name__}", value=producers, advice=advice)
    if parameter.optional and wanted in placement.absent:
        return None
    advice = "place a task that gives it"
    if parameter.optional:
        advice += f", or say absent=[{wanted.__name__}]"
    given = sorted({o.operator.result.__name__ for o in placements.values() if o.operator.result is not None})
    raise ConfigError(f"{where}: no task gives", value=wanted.__name__, advice=f"{advice}; given: {', '.join(given)}")


def _find(plan: Plan, placement: Placement, anchor: Anchor, placements: dict[str, Placement]) -> str:
    where = f"task {placement.name!r} in plan {plan.key!r}"
    if isinstance(anchor, str):
        if anchor not in placements:
            raise ConfigError(
                f"{where} refers to an unknown task", value=anchor, advice=advise_known(anchor, placements)
            )
        return anchor
    if isinstance(anchor, Operator):
        found = [name for name, other in placements.items() if other.operator is anchor]
    else:
        found = [name for name, other in placements.items() if other is anchor]
    if len(found) == 1:
        return found[0]
    wanted = anchor.name
    if found:
        advice = f"it stands in the plan as {', '.join(found)}; refer to one of them by name"
        raise ConfigError(f"{where} refers to an operator placed several times", value=wanted, advice=advice)
    advice = f"put the same placement into tasks=[...]; {advise_known(wanted, placements)}"
    raise ConfigError(f"{where} refers to a task that is not in the plan", value=wanted, advice=advice)


def _sort(plan: Plan, edges: dict[str, _Edges]) -> list[str]:
    """Return names in a topological order that keeps the author's order where it can."""
    sorter = TopologicalSorter({name: edge.predecessors() for name, edge in edges.items()})
    position = {name: index for index, name in enumerate(edges)}
    try:
        sorter.prepare()
    except CycleError as error:
        cycle: list[Any] = error.args[1]
        raise ConfigError(f"plan {plan.key!r} has a cycle", value=" -> ".join(reversed(cycle))) from error
    order: list[str] = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready(), key=position.__getitem__)
        order.extend(ready)
        sorter.done(*ready)
    return order


def _build_node(
    placement: Placement,
    edges: _Edges,
    index_of: dict[str, int],
    needs: list[Need],
    successors: tuple[int, ...],
) -> Node:
    first_need_slot = FIRST_NODE_SLOT + len(index_of)
    arguments: list[int] = []
    for filler in edges.fillers:
        if isinstance(filler, int):
            arguments.append(filler)
        elif isinstance(filler, str):
            arguments.append(FIRST_NODE_SLOT + index_of[filler])
        else:
            arguments.append(first_need_slot + needs.index(filler))

    def indexes(names: list[str]) -> tuple[int, ...]:
        return tuple(sorted({index_of[name] for name in names}))

    return Node(
        index=index_of[placement.name],
        name=placement.name,
        operator=placement.operator,
        config=placement.config,
        arguments=tuple(arguments),
        requires=indexes(edges.requires),
        prefers=indexes(edges.prefers),
        after=indexes(edges.after),
        after_any=indexes(edges.after_any),
        successors=successors,
        predecessor_count=len(edges.predecessors()),
        finally_=placement.finally_,
    )
