"""Runs one task alone, as its author would want to test it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from gristmill.domain.errors import UsageError
from gristmill.domain.ids import RunId
from gristmill.domain.item import Item
from gristmill.domain.outcome import Done, End, Fail, Skip
from gristmill.engine.core.attempts import Again, Attempts, Failed
from gristmill.engine.run.calls import Workers, attempt_once
from gristmill.engine.run.scope import Scope
from gristmill.engine.run.steps import build_step
from gristmill.plans.graph import SLOT_ITEM, SLOT_NONE, SLOT_SCOPE, Graph, Node
from gristmill.plans.operator import Operator
from gristmill.plans.placement import Placement
from gristmill.plans.resources import RunScope
from gristmill.plans.signature import Parameter
from gristmill.ports.clock import Clock

__all__ = ["run_task"]


async def run_task(
    task: Operator | Placement,
    item: Item,
    *results: msgspec.Struct,
    resources: Mapping[str, object] | None = None,
    config: Mapping[str, Any] | None = None,
    scope: RunScope | None = None,
    clock: Clock | None = None,
) -> Done | Skip | End | Fail:
    """Run one task on one item with all its attempts, and return how it ended.

        outcome = await run_task(topics, item, Language("en"), resources={"safety": fake})
        assert outcome == Done(Topics(...))

    Time-outs and attempts are those of the task; waits between attempts cost no time. What the task raises in its last
    attempt comes back as `Fail("ValueError: x")`. Disable rules and `on_error` belong to a Run and do not apply.

    Args:
        task: an operator, or a placement for one with configuration of its own.
        results: results of other tasks; each goes to the next parameter of its type. A parameter `X | None` without
            one gets None.
        resources: role -> what plays it. A role of a `Clock` is played by `clock` by itself.
        config: values of the parameters after `*`, where they differ from their defaults.
        scope: the Run to be part of; by default one of a plan named `test`.
        clock: waits between attempts; by default one that jumps.
    Raises:
        UsageError: a result or resource is missing, or a result is not asked for.
    """
    placement = task if isinstance(task, Placement) else task.use()
    if config:
        placement = placement.operator.use(**{**placement.config, **config})
    clock = clock or _JumpingClock()
    slots: list[Any] = [item, scope or Scope(RunId("test"), "test"), None, None]
    left = list(results)
    played = dict(resources or {})
    arguments = [
        _fill(parameter, slots, left, played, clock=clock, task=placement.name)
        for parameter in placement.operator.parameters
    ]
    if left:
        thing = f"task {placement.name!r} asks for no further"
        raise UsageError(thing, value=type(left[0]).__name__, advice="give only what its parameters name")
    return await _attempt(_place_alone(placement, tuple(arguments)), slots, clock)


async def _attempt(node: Node, slots: list[Any], clock: Clock) -> Done | Skip | End | Fail:
    graph = Graph(key="test", version=1, nodes=(node,), needs=())
    step = build_step(node, graph, writes="on", environment="test")
    attempts, workers = Attempts(node.operator), Workers()
    try:
        while True:
            answer = await attempt_once(step, slots, attempts, workers)
            if isinstance(answer, Failed):
                return Fail(answer.text)
            if not isinstance(answer, Again):
                return answer
            await clock.sleep_ms(answer.wait_ms)
    finally:
        workers.close()


def _fill(
    parameter: Parameter,
    slots: list[Any],
    results: list[msgspec.Struct],
    resources: Mapping[str, object],
    *,
    clock: Clock,
    task: str,
) -> int:
    """Return the slot that fills a parameter, a new one for a result or a resource."""
    if parameter.source == "item":
        return SLOT_ITEM
    if parameter.source == "scope":
        return SLOT_SCOPE
    where = f"parameter {parameter.name!r} of task {task!r}"
    if parameter.source == "resource":
        port, role = parameter.wanted
        if role not in resources and port is not Clock:
            raise UsageError(f"{where} needs a {port.__name__}", value=role, advice=f"resources={{{role!r}: ...}}")
        slots.append(resources.get(role, clock))
    else:
        found = next((result for result in results if isinstance(result, parameter.wanted)), None)
        if found is None and not parameter.optional:
            raise UsageError(
                f"{where} needs a result", value=parameter.wanted.__name__, advice="pass it after the item"
            )
        if found is None:
            return SLOT_NONE
        results.remove(found)
        slots.append(found)
    return len(slots) - 1


def _place_alone(placement: Placement, arguments: tuple[int, ...]) -> Node:
    return Node(
        index=0,
        name=placement.name,
        operator=placement.operator,
        config=placement.config,
        arguments=arguments,
        requires=(),
        prefers=(),
        after=(),
        after_any=(),
        successors=(),
        predecessor_count=0,
        finally_=False,
    )


class _JumpingClock:
    """Time that stands still but for waits."""

    def __init__(self) -> None:
        self._now_ms = 0

    def now_ms(self) -> int:
        return self._now_ms

    def monotonic_us(self) -> int:
        return self._now_ms * 1_000

    def monotonic_ns(self) -> int:
        return self.monotonic_us() * 1_000

    def thread_us(self) -> int:
        return self.monotonic_us()

    async def sleep_ms(self, duration_ms: int) -> None:
        self._now_ms += duration_ms
