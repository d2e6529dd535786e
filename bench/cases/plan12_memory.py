"""plan12.memory: CPU per inline task of a plan with twelve tasks, all in memory.

A chain with three diamonds; each task returns a small cell. The figure is everything from the call of the driver to the
ended Run with its cells and task reports, the tasks' own bodies included, divided by twelve.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Any

import msgspec
from cases.figure import Figure

from gristmill import Item, Plan, cell, task
from gristmill.adapters.clock import SystemClock
from gristmill.domain.ids import ItemId, RunId
from gristmill.engine.driver import Driver, Scope
from gristmill.plans.compile import compile_plan
from gristmill.plans.operator import Operator
from gristmill.plans.registry import RegisteredPlan

US_PER_TASK_MAX = 5.0
"""The budget for the framework's cost of one task in memory."""

PRODUCERS = ((), (0,), (0,), (1, 2), (3,), (4,), (4,), (5, 6), (7,), (7,), (8, 9), (10,))
"""Task -> the tasks whose results it takes; the first one takes the item."""


def measure_plan12_memory(quick: bool) -> Figure:
    """Return microseconds of CPU per task, one value for each batch of Runs."""
    batches, runs_per_batch = (3, 2_000) if quick else (9, 5_000)
    driver = Driver(RegisteredPlan(build_graph(), "bench", "shadow"), resources={}, clock=SystemClock())
    drive(driver, 500)
    gc.collect()
    return Figure(
        runs=tuple(drive(driver, runs_per_batch) for _ in range(batches)), unit="us CPU/task", raw=US_PER_TASK_MAX
    )


def drive(driver: Driver, run_count: int) -> float:
    """Drive one item `run_count` times and return microseconds of CPU per task."""
    item = Item(ItemId(1), text="A cat sat on the mat.")
    scopes = [Scope(RunId(str(number)), "plan12") for number in range(run_count)]
    began = time.process_time()
    for scope in scopes:
        ended = driver.try_drive_nowait(item, scope)
        if ended is None or len(ended.cells) != len(PRODUCERS):
            raise AssertionError("the Run did not end as it should")
    return (time.process_time() - began) * 1e6 / (run_count * len(PRODUCERS))


def build_graph() -> Any:
    results = [
        cell(f"c{index}")(msgspec.defstruct(f"C{index}", [("text", str)], frozen=True, module=__name__))
        for index in range(len(PRODUCERS))
    ]
    tasks = [define_task(f"t{index}", results[index], [results[i] for i in PRODUCERS[index]]) for index in range(12)]
    return compile_plan(Plan("plan12", tasks=tasks))


def define_task(name: str, result: Any, taken: list[Any]) -> Operator:
    """Return a task that builds its result from what it takes, annotated as an author would write it."""
    functions: list[Callable[..., Any]] = [
        lambda item: result(item.text),
        lambda first: result(first.text),
        lambda first, second: result(second.text),
    ]
    function = functions[len(taken)]
    names = function.__code__.co_varnames
    function.__name__ = name
    function.__annotations__ = {**dict(zip(names, taken or [Item], strict=True)), "return": result}
    return task(function)
