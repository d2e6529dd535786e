"""latency.* and idle.*: one Runner over a log, with records at a steady pace and with none at all.

Latency runs from the call that appends a record to the start of the handler, server and disk in between; whoever
appends and whoever runs have connections of their own. An idle Runner looks at its lag and keeps its place as ever.
"""

from __future__ import annotations

import asyncio
import gc
import statistics
import time
from collections.abc import Callable, Sequence

from cases.figure import Figure

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.local_host import new_owner
from gristmill.domain.log import NewRecord
from gristmill.engine.runner import Runner, RunnerSettings
from gristmill.ports.handling import Handler, Handling
from gristmill.ports.log import Log

__all__ = ["idle_figure", "latency_figure", "measure_idle", "measure_latency"]

PER_S = 500
LATENCY_MS_MAX = 50.0
COMMANDS_MAX = 5.0
"""What one consumer that waits may ask of its server each second."""

WORKERS = 64
WARM_UP_RECORDS = 50
GROUP = "g"


def latency_figure(runs: Sequence[tuple[float, float]]) -> Figure:
    """Return median and 99th percentile of each run as a figure."""
    return Figure(
        runs=tuple(p99 for _, p99 in runs),
        unit="ms p99",
        raw=LATENCY_MS_MAX,
        more={"p50": statistics.median(p50 for p50, _ in runs)},
    )


def idle_figure(runs: Sequence[float], *, unit: str) -> Figure:
    """Return what each second of idleness costs as a figure."""
    return Figure(runs=tuple(runs), unit=unit, raw=COMMANDS_MAX)


async def measure_latency(producer: Log, consumer: Log, *, topic: str, seconds: float) -> tuple[float, float]:
    """Return median and 99th percentile in ms."""
    count = int(seconds * PER_S)
    waits_ms: list[float] = []
    is_warm, is_done = asyncio.Event(), asyncio.Event()

    async def handle(handling: Handling) -> None:
        waits_ms.append((time.perf_counter() - float(handling.delivery.value)) * 1_000)
        if len(waits_ms) == WARM_UP_RECORDS:
            is_warm.set()
        if len(waits_ms) == WARM_UP_RECORDS + count:
            is_done.set()

    await _append_paced(producer, topic, WARM_UP_RECORDS)
    runner = _make_runner(consumer, topic, handle)
    running = asyncio.create_task(runner.run(is_done))
    await is_warm.wait()
    gc.collect()
    await _append_paced(producer, topic, count)
    await running
    measured = statistics.quantiles(waits_ms[WARM_UP_RECORDS:], n=100)
    return measured[49], measured[98]


async def measure_idle(log: Log, count: Callable[[], int], *, topic: str, seconds: float) -> float:
    """Return how much `count` grows each second while a Runner has nothing to do."""
    is_started, is_over = asyncio.Event(), asyncio.Event()

    async def handle(handling: Handling) -> None:
        is_started.set()

    await log.append(topic, [NewRecord(b"the only one")])
    running = asyncio.create_task(_make_runner(log, topic, handle).run(is_over))
    await is_started.wait()
    await asyncio.sleep(1.0)
    before, began = count(), time.perf_counter()
    await asyncio.sleep(seconds)
    grown, spent_s = count() - before, time.perf_counter() - began
    is_over.set()
    await running
    return grown / spent_s


def _make_runner(log: Log, topic: str, handle: Handler) -> Runner:
    settings = RunnerSettings(workers=WORKERS, batch=WORKERS)
    return Runner(log, topic, GROUP, handle, settings, clock=SystemClock(), owner=new_owner())


async def _append_paced(log: Log, topic: str, count: int) -> None:
    """Append records one by one at the pace, whatever a single append takes."""
    began = time.perf_counter()
    async with asyncio.TaskGroup() as appends:
        for number in range(count):
            await asyncio.sleep(max(0.0, began + number / PER_S - time.perf_counter()))
            appends.create_task(log.append(topic, [NewRecord(repr(time.perf_counter()).encode())]))
