"""Drives single Runs in tests: a clock that jumps, a driver from loose tasks."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from gristmill import Item, Plan
from gristmill.domain.ids import ItemId, RunId
from gristmill.engine.driver import Driver, Ended, Scope
from gristmill.plans.compile import compile_plan
from gristmill.plans.plan import Writes
from gristmill.plans.registry import RegisteredPlan
from gristmill.plans.resources import Need

ITEM = Item(ItemId(20_260_101 * 10**11), source="feed", input_id="7", text="Hello world")
TURNS_BEFORE_JUMP = 20
"""Turns of the loop after which whoever still waits is taken to wait for time alone."""


class JumpingClock:
    """Jumps to the earliest end of a wait when every task waits."""

    def __init__(self) -> None:
        self._now_us = 1_000_000_000
        self._due_us: list[int] = []
        self.waits_ms: list[int] = []

    def now_ms(self) -> int:
        return self._now_us // 1_000

    def monotonic_us(self) -> int:
        return self._now_us

    def advance(self, duration_ms: int) -> None:
        self._now_us += duration_ms * 1_000

    def monotonic_ns(self) -> int:
        return self.monotonic_us() * 1_000

    def thread_us(self) -> int:
        return self.monotonic_us()

    async def sleep_ms(self, duration_ms: int) -> None:
        self.waits_ms.append(duration_ms)
        due_us = self._now_us + duration_ms * 1_000
        self._due_us.append(due_us)
        try:
            while self._now_us < due_us:
                for _ in range(TURNS_BEFORE_JUMP):
                    await asyncio.sleep(0)
                if min(self._due_us) == due_us:
                    self._now_us = max(self._now_us, due_us)
        finally:
            self._due_us.remove(due_us)


def register(*tasks: Any, key: str = "plan", writes: Writes = "on") -> RegisteredPlan:
    """Return a compiled plan of these tasks."""
    return RegisteredPlan(compile_plan(Plan(key, tasks=list(tasks))), "flow", writes)


def build_driver(
    *tasks: Any,
    clock: JumpingClock | None = None,
    resources: Mapping[Need, object] | None = None,
    key: str = "plan",
    writes: Writes = "on",
) -> Driver:
    """Return a driver over a plan of these tasks."""
    plan = register(*tasks, key=key, writes=writes)
    return Driver(plan, resources=resources or {}, clock=clock or JumpingClock(), environment="test")


async def drive(*tasks: Any, item: Item = ITEM, clock: JumpingClock | None = None, writes: Writes = "on") -> Ended:
    """Drive one item through a plan of these tasks the way an engine does: without waiting first."""
    driver = build_driver(*tasks, clock=clock, writes=writes)
    try:
        return await drive_with(driver, item)
    finally:
        driver.close()


async def drive_with(driver: Driver, item: Item = ITEM, *, run_id: str = "run", plan: str = "plan") -> Ended:
    """Drive one item with a driver."""
    scope = Scope(RunId(run_id), plan)
    ended = driver.try_drive_nowait(item, scope)
    return ended if ended is not None else await driver.drive(item, scope)


def statuses(ended: Ended) -> dict[str, str]:
    """Task name -> status."""
    return {report.task: report.status for report in ended.tasks}


def reasons(ended: Ended) -> dict[str, str]:
    """Task name -> reason, where there is one."""
    return {report.task: report.reason for report in ended.tasks if report.reason}
