"""Drives Runs of one plan from an Item to what they want written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gristmill.domain.errors import ConfigError
from gristmill.domain.item import Item
from gristmill.domain.run import TaskReport
from gristmill.engine.core.layout import Layout
from gristmill.engine.run.calls import Workers
from gristmill.engine.run.harvest import Harvester
from gristmill.engine.run.processes import refuse_unimportable
from gristmill.engine.run.scope import Ended, Scope
from gristmill.engine.run.steps import Slots, build_step
from gristmill.engine.run.straight import StraightWay
from gristmill.engine.run.unrolled import NS_PER_US
from gristmill.engine.run.walk import Kit, Walk
from gristmill.engine.run.watchdog import Watchdog
from gristmill.plans.graph import FIRST_NODE_SLOT, SLOT_ITEM, SLOT_SCOPE
from gristmill.plans.registry import RegisteredPlan
from gristmill.plans.resources import Need
from gristmill.ports.clock import Clock

__all__ = ["Driver", "Ended", "Scope"]


class Driver:
    """Drives any number of Runs of one plan, at the same time if wanted.

    Functions, configuration and resources are bound once, here. Tasks of one Run that are ready together run beside
    each other; inline ones in the caller's turn.

    Args:
        resources: what fills each `Need` of the plan. A need for a `Clock` is filled with `clock` by itself.
        environment: what disable rules are told.
        workers: threads and processes, shared with other drivers; by default the driver has its own.
    Raises:
        ConfigError: a resource is missing, or a task cannot run in a process although it asks for that.
    """

    def __init__(
        self,
        plan: RegisteredPlan,
        *,
        resources: Mapping[Need, object],
        clock: Clock,
        environment: str = "dev",
        workers: Workers | None = None,
    ) -> None:
        graph = plan.graph
        steps = tuple(build_step(node, graph, writes=plan.writes, environment=environment) for node in graph.nodes)
        for step in steps:
            if step.operator.runs == "process":
                refuse_unimportable(step.operator)
        template: list[Any] = [None] * FIRST_NODE_SLOT + [None] * len(steps)
        template += [_find_resource(need, resources, clock, plan=graph.key) for need in graph.needs]
        self._own_workers = workers is None
        self._kit = Kit(
            steps=steps,
            layout=Layout(graph),
            template=template,
            clock=clock,
            now_us=clock.monotonic_us,
            workers=workers or Workers(),
            watchdog=Watchdog(graph.key, clock),
        )
        self._harvester = Harvester(steps, writes=plan.writes)
        self._straight = None
        if StraightWay.is_open_to(steps):
            self._straight = StraightWay(
                steps, self._kit.layout, now_ns=clock.monotonic_ns, watchdog=self._kit.watchdog
            )
        self._begins_inline = all(steps[root].is_inline for root in self._kit.layout.roots)

    @property
    def slow_calls(self) -> Mapping[str, int]:
        """Task name -> inline calls that took longer than they may."""
        return self._kit.watchdog.slow_calls

    def try_drive_nowait(self, item: Item, scope: Scope) -> Ended | None:
        """Drive a whole Run without waiting, or return None: then hand the same item and scope to `drive`.

        None comes back at once when a first task of the plan is not inline. It also comes when such a task is reached,
        or one has to wait before another attempt; `drive` goes on from there and calls no finished task again. So a
        Run whose slow tasks are all skipped costs no more than one of a plan without them.
        """
        if not self._begins_inline:
            return None
        slots, passed = self._fill_slots(item, scope), None
        if self._straight is not None:
            passed = self._straight.go(slots)
            if passed.is_whole:
                return self._finish_whole(slots, self._straight.report(passed), scope)
        origin_us = self._kit.now_us() if passed is None else passed.origin_ns // NS_PER_US
        walk = Walk(self._kit, slots, origin_us=origin_us)
        if walk.go_nowait(passed):
            return self._finish(walk, scope)
        scope.walk = walk
        return None

    async def drive(self, item: Item, scope: Scope) -> Ended:
        """Drive a Run to its end, from where `try_drive_nowait` stopped if it did with this scope.

        Guarantees: whatever a task raises or returns, the Run ends with a status and a reason. When cancelled, every
        running task is cancelled and awaited before the cancellation goes on.
        """
        walk, scope.walk = scope.walk, None
        if walk is None:
            walk = Walk(self._kit, self._fill_slots(item, scope), origin_us=self._kit.now_us())
            await walk.go(is_started=False)
        else:
            await walk.go(is_started=True)
        return self._finish(walk, scope)

    def close(self) -> None:
        """Let go of threads and processes, unless they are shared. Safe to call twice."""
        if self._own_workers:
            self._kit.workers.close()

    def _fill_slots(self, item: Item, scope: Scope) -> Slots:
        slots = self._kit.template.copy()
        slots[SLOT_ITEM] = item
        slots[SLOT_SCOPE] = scope
        return slots

    def _finish_whole(self, slots: Slots, tasks: tuple[TaskReport, ...], scope: Scope) -> Ended:
        cells, findings = self._harvester.cells_of_whole(slots), self._harvester.findings(slots)
        # Without keywords, since this is done for nearly every Run: the empty ones are reason and error.
        return Ended("done", "", "", "", "", tasks, cells, *findings, scope.callbacks)

    def _finish(self, walk: Walk, scope: Scope) -> Ended:
        verdict = walk.marking.verdict()
        marking, reports = walk.marking, walk.reports
        tasks = tuple(
            [
                report or TaskReport(step.name, marking.status_of(step.index), reason=marking.reason_of(step.index))
                for step, report in zip(self._kit.steps, reports, strict=True)
            ]
        )
        if verdict.status == "failed":
            return Ended(
                status="failed",
                error=verdict.error,
                error_class=verdict.error_class,
                failed_task=verdict.failed_task,
                tasks=tasks,
                on_end=scope.callbacks,
            )
        labels, contributions, effects = self._harvester.findings(walk.slots)
        return Ended(
            status=verdict.status,
            reason=verdict.reason,
            tasks=tasks,
            cells=self._harvester.cells(walk.slots),
            labels=labels,
            contributions=contributions,
            effects=effects,
            on_end=scope.callbacks,
        )


def _find_resource(need: Need, resources: Mapping[Need, object], clock: Clock, *, plan: str) -> object:
    if need in resources:
        return resources[need]
    if need.port is Clock:
        return clock
    advice = f"configure the role {need.role!r}"
    raise ConfigError(f"plan {plan!r} needs a resource", value=f"{need.port.__name__} {need.role!r}", advice=advice)
