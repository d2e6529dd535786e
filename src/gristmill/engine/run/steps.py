"""A Node made ready to be called: function, slots and configuration bound once, when the driver is built.

Slots are one list for each Run (see `plans.graph`): item, scope, None, a result for each node, then the resources.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import itemgetter
from types import NoneType
from typing import Any

import msgspec

from gristmill.domain.errors import ConfigError
from gristmill.plans.graph import Graph, Node
from gristmill.plans.operator import DisableRule, Operator
from gristmill.plans.plan import Writes
from gristmill.plans.resources import Situation

__all__ = ["Slots", "Step", "build_step"]

Slots = list[Any]


class Step(msgspec.Struct, frozen=True, eq=False):
    """What one node needs at run time.

    Attributes:
        function: the operator's function with its configuration bound.
        call: the same on the slots of a Run.
        result: exact type of a plain result; NoneType for a task without one.
        slot: where the result goes.
        is_plain: it runs inline and has no rules, so that nothing stands between being ready and being called.
        rules, situation: looked at before the first attempt, where there are rules.
    """

    index: int
    name: str
    operator: Operator
    config: dict[str, Any]
    arguments: tuple[int, ...]
    function: Callable[..., Any]
    call: Callable[[Slots], Any]
    result: type
    slot: int
    is_inline: bool
    is_plain: bool
    rules: tuple[DisableRule, ...]
    situation: Situation


def build_step(node: Node, graph: Graph, *, writes: Writes, environment: str) -> Step:
    """Bind a node's function to the slots of its graph.

    Raises:
        ConfigError: the task runs in a process, but asks for what cannot be handed to one.
    """
    operator = node.operator
    if operator.runs == "process":
        _refuse_unsendable(node, graph)
    rules = operator.options.disable
    if operator.options.sink and writes == "off":
        rules = (_tell_writes_off, *rules)
    function = partial(operator.function, **node.config) if node.config else operator.function
    return Step(
        index=node.index,
        name=node.name,
        operator=operator,
        config=node.config,
        arguments=node.arguments,
        function=function,
        call=_bind(function, node.arguments),
        result=operator.result or NoneType,
        slot=node.result_slot,
        is_inline=operator.runs == "inline",
        is_plain=operator.runs == "inline" and not rules,
        rules=rules,
        situation=Situation(environment=environment, writes=writes, plan=graph.key, task=node.name),
    )


def _bind(function: Callable[..., Any], arguments: tuple[int, ...]) -> Callable[[Slots], Any]:
    """Return the function on a slot list; the small arities are spelled out, since a loop would cost as much again."""
    match arguments:
        case ():
            return lambda slots: function()
        case (one,):
            return lambda slots: function(slots[one])
        case (one, two):
            return lambda slots: function(slots[one], slots[two])
    get = itemgetter(*arguments)
    return lambda slots: function(*get(slots))


def _refuse_unsendable(node: Node, graph: Graph) -> None:
    for parameter in node.operator.parameters:
        if parameter.source in ("scope", "resource"):
            thing = f"task {node.name!r} of plan {graph.key!r} runs in a process but asks for a {parameter.source}"
            raise ConfigError(thing, value=parameter.name, advice="use runs='thread', or do without it")


def _tell_writes_off(situation: Situation) -> str | None:
    return f"writes are {situation.writes}"
