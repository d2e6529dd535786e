"""Compiles a Plan into its Graph and refuses what could go wrong later, naming culprit and way out."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

import msgspec

from gristmill.domain.errors import ConfigError
from gristmill.plans.graph import FIRST_NODE_SLOT, SLOT_ITEM, SLOT_NONE, SLOT_SCOPE, Graph, Node
from gristmill.plans.names import advise_known
from gristmill.plans.placement import Anchor, Placement
from gristmill.plans.plan import Plan
from gristmill.plans.resources import Need
from gristmill.plans.signature import Parameter

__all__ = ["compile_plan"]


EXPLAINED_ARROWS_MAX = 8
"""More reasons than this make a message unreadable."""


class _Edges(msgspec.Struct):
    """Edges of one placement by Task name, in the order they were found; and what fills each parameter."""

    requires: list[str] = []
    prefers: list[str] = []
    after: list[str] = []
    after_any: list[str] = []
    fillers: list[str | Need | int] = []
    absent: list[type] = []

    def predecessors(self) -> list[str]:
        return list(dict.fromkeys([*self.requires, *self.prefers, *self.after, *self.after_any]))


class _Tasks(msgspec.Struct):
    """The placements of one plan by Task name, and who gives what."""

    plan: str
    by_name: dict[str, Placement]
    producers: dict[type, list[str]]
    names_of: dict[int, list[str]]
    """Identity of a placement or operator -> Task names, so that a large plan is not searched again and again."""

    def result_of(self, name: str) -> type | None:
        return self.by_name[name].operator.result


def compile_plan(plan: Plan) -> Graph:
    """Return the graph of a plan: nodes level by level, those of one level in the author's order.

    Raises:
        ConfigError: no task, a name used twice, an unknown, missing or ambiguous producer, a cycle, two results
            for one cell, or something that only durable plans can do.
    """
    if not plan.placements:
        raise ConfigError(f"plan {plan.key!r} has no task", advice="tasks=[...]")
    _refuse_durable(plan)
    tasks = _index(plan)
    edges = {name: _read_edges(tasks, placement) for name, placement in tasks.by_name.items()}
    order = _sort(tasks, edges)
    needs = list(dict.fromkeys(f for name in order for f in edges[name].fillers if isinstance(f, Need)))
    index_of = {name: index for index, name in enumerate(order)}
    successors: dict[str, list[int]] = {name: [] for name in order}
    for name in order:
        for predecessor in edges[name].predecessors():
            successors[predecessor].append(index_of[name])
    nodes = tuple(
        _build_node(tasks.by_name[name], edges[name], index_of, needs, tuple(successors[name])) for name in order
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


def _index(plan: Plan) -> _Tasks:
    tasks = _Tasks(plan=plan.key, by_name={}, producers={}, names_of={})
    writers: dict[str, str] = {}
    for placement in plan.placements:
        name, operator = placement.name, placement.operator
        if name in tasks.by_name:
            advice = f"give one of them another: {operator.function.__name__}.use(name='...')"
            raise ConfigError(f"plan {plan.key!r} has two tasks of one name", value=name, advice=advice)
        tasks.by_name[name] = placement
        tasks.names_of.setdefault(id(placement), []).append(name)
        tasks.names_of.setdefault(id(operator), []).append(name)
        if operator.result is None or operator.mark is None:
            continue
        tasks.producers.setdefault(operator.result, []).append(name)
        if operator.mark.kept == "cell":
            other = writers.setdefault(operator.mark.field, name)
            if tasks.result_of(other) is not operator.result:
                thing = f"tasks {other!r} and {name!r} of plan {plan.key!r} give different results for one cell"
                raise ConfigError(thing, value=operator.mark.field, advice="name one of the cells otherwise")
    return tasks


def _read_edges(tasks: _Tasks, placement: Placement) -> _Edges:
    edges = _Edges()
    known = {parameter.name for parameter in placement.operator.parameters if parameter.source == "result"}
    for bound in placement.bind:
        if bound not in known:
            thing = f"bind of task {placement.name!r} in plan {tasks.plan!r} names no parameter that takes a result"
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
                _read_data_edge(tasks, placement, parameter, edges)
    for result in placement.absent:
        if result not in edges.absent:
            thing = f"absent of task {placement.name!r} in plan {tasks.plan!r}"
            given = ", ".join(repr(name) for name in tasks.producers.get(result, ()) if name != placement.name)
            advice = f"drop it: task {given} gives it" if given else "drop it: no 'X | None' parameter takes it"
            raise ConfigError(thing, value=result.__name__, advice=advice)
    edges.after = [_find(tasks, placement, anchor) for anchor in placement.after]
    edges.after_any = [_find(tasks, placement, anchor) for anchor in placement.after_any]
    return edges


def _read_data_edge(tasks: _Tasks, placement: Placement, parameter: Parameter, edges: _Edges) -> None:
    producer = _choose_producer(tasks, placement, parameter)
    if producer is None:
        edges.fillers.append(SLOT_NONE)
        edges.absent.append(parameter.wanted)
        return
    edges.fillers.append(producer)
    (edges.prefers if parameter.optional else edges.requires).append(producer)


def _choose_producer(tasks: _Tasks, placement: Placement, parameter: Parameter) -> str | None:
    wanted: type = parameter.wanted
    where = f"parameter {parameter.name!r} of task {placement.name!r} in plan {tasks.plan!r}"
    if parameter.name in placement.bind:
        bound = _find(tasks, placement, placement.bind[parameter.name])
        if tasks.result_of(bound) is not wanted:
            fitting = ", ".join(tasks.producers.get(wanted, ())) or "none"
            advice = f"tasks that give it: {fitting}"
            raise ConfigError(
                f"{where} is bound to a task that does not give {wanted.__name__}", value=bound, advice=advice
            )
        return bound
    # A task never waits for itself: one that refines X takes the X of another.
    producers = [name for name in tasks.producers.get(wanted, ()) if name != placement.name]
    if len(producers) == 1:
        return producers[0]
    if producers:
        advice = (
            f"choose one: {placement.operator.function.__name__}.use(bind={{{parameter.name!r}: {producers[0]!r}}})"
        )
        thing = f"{where}: several tasks give {wanted.__name__}"
        raise ConfigError(thing, value=", ".join(producers), advice=advice)
    if parameter.optional and wanted in placement.absent:
        return None
    advice = "place a task that gives it"
    if parameter.optional:
        advice += f", or say absent=[{wanted.__name__}]"
    raise ConfigError(
        f"{where}: no other task gives", value=wanted.__name__, advice=f"{advice}; {_given(tasks, wanted)}"
    )


def _given(tasks: _Tasks, wanted: type) -> str:
    """Say what the plan does give; a type of the same name from another module is the hardest to see."""
    for result, names in tasks.producers.items():
        if result is not wanted and result.__name__ == wanted.__name__:
            return f"task {names[0]!r} gives {result.__module__}.{result.__name__}, not that of {wanted.__module__}"
    return "given: " + (", ".join(sorted(result.__name__ for result in tasks.producers)) or "none")


def _find(tasks: _Tasks, placement: Placement, anchor: Anchor) -> str:
    where = f"task {placement.name!r} in plan {tasks.plan!r}"
    if isinstance(anchor, str):
        if anchor not in tasks.by_name:
            advice = advise_known(anchor, tasks.by_name)
            raise ConfigError(f"{where} refers to an unknown task", value=anchor, advice=advice)
        return anchor
    found = tasks.names_of.get(id(anchor), [])
    if len(found) == 1:
        return found[0]
    if found:
        advice = f"it stands in the plan as {', '.join(found)}; refer to one of them by name"
        raise ConfigError(f"{where} refers to an operator placed several times", value=anchor.name, advice=advice)
    advice = advise_known(anchor.name, tasks.by_name)
    if anchor.name in tasks.by_name:
        advice = f"another placement of that name is; refer to it as {anchor.name!r}"
    raise ConfigError(f"{where} refers to a task that is not in the plan", value=anchor.name, advice=advice)


def _sort(tasks: _Tasks, edges: dict[str, _Edges]) -> list[str]:
    sorter = TopologicalSorter({name: edge.predecessors() for name, edge in edges.items()})
    position = {name: index for index, name in enumerate(edges)}
    try:
        sorter.prepare()
    except CycleError as error:
        cycle: list[str] = error.args[1]
        advice = f"take one of these away: {_explain_cycle(tasks, edges, cycle)}"
        raise ConfigError(f"plan {tasks.plan!r} has a cycle", value=" -> ".join(cycle), advice=advice) from error
    order: list[str] = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready(), key=position.__getitem__)
        order.extend(ready)
        sorter.done(*ready)
    return order


def _explain_cycle(tasks: _Tasks, edges: dict[str, _Edges], cycle: list[str]) -> str:
    """Say for each arrow of a cycle why it is there; a task runs before the next one."""
    reasons: list[str] = []
    for first, then in list(pairwise(cycle))[:EXPLAINED_ARROWS_MAX]:
        if first in edges[then].requires or first in edges[then].prefers:
            result = tasks.result_of(first)
            reasons.append(f"{then!r} takes {result.__name__ if result else 'a result'} from {first!r}")
        else:
            reasons.append(f"{then!r} is placed after {first!r}")
    more = len(cycle) - 1 - len(reasons)
    return "; ".join(reasons) + (f"; and {more} more" if more else "")


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
