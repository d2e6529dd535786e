"""runner.sqlite: records a second that two processes with a Runner each claim, hand to a function and accept.

Every acceptance is synced. The limit is the 2,000 a second that the embedded log has to carry at least.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import structlog
from cases.figure import Figure

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.local_host import new_owner
from gristmill.adapters.sqlite import SqliteStore
from gristmill.domain.log import NewRecord
from gristmill.engine.runner import Runner, RunnerSettings
from gristmill.ports.handling import Handling

LIMIT = 2_000
PROCESSES = 2
SETTINGS = RunnerSettings(workers=64, batch=64)
LOOK_S = 0.02


def measure_runner_sqlite(quick: bool) -> Figure:
    """Return records a second, from the first that was begun to the last that was accepted."""
    records, runs = (2_000, 1) if quick else (20_000, 3)
    with ProcessPoolExecutor(PROCESSES, mp_context=multiprocessing.get_context("spawn")) as pool:
        rates = tuple(_measure(pool, records) for _ in range(runs))
    return Figure(runs=rates, unit="records/s", raw=LIMIT, less_is_better=False)


def _measure(pool: ProcessPoolExecutor, records: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.sqlite"
        asyncio.run(_append(path, records))
        worked = list(pool.map(work_off, [str(path)] * PROCESSES))
    done = sum(count for _, _, count in worked)
    if done != records:
        raise AssertionError(f"{done} of {records} records were worked on")
    return records / (max(ended_s for _, ended_s, _ in worked) - min(began_s for began_s, _, _ in worked))


def work_off(path: str) -> tuple[float, float, int]:
    """Work until nothing is left; return begin and end on the clock of the host, and how many records it were."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger("error"))
    return asyncio.run(_work_off(Path(path)))


async def _work_off(path: Path) -> tuple[float, float, int]:
    clock, owner, count = SystemClock(), new_owner(), 0
    store = SqliteStore.open(path, clock=clock, owner=owner)
    stop = asyncio.Event()

    async def work(handling: Handling) -> None:
        nonlocal count
        count += 1

    began_s = time.monotonic()
    runner = Runner(store.log, "posts", "g", work, SETTINGS, clock=clock, owner=owner, has_own_lag=False)
    running = asyncio.create_task(runner.run(stop))
    lag = await store.log.lag("posts", "g")
    while lag.undelivered + lag.in_flight:
        await asyncio.sleep(LOOK_S)
        lag = await store.log.lag("posts", "g")
    ended_s = time.monotonic()
    stop.set()
    await running
    await store.close()
    return began_s, ended_s, count


async def _append(path: Path, records: int) -> None:
    store = SqliteStore.open(path, clock=SystemClock(), owner=new_owner())
    await store.log.append("posts", [NewRecord(b"x" * 500, key=str(number)) for number in range(min(records, 10_000))])
    for _ in range(records // 10_000 - 1):
        await store.log.append("posts", [NewRecord(b"x" * 500, key=str(number)) for number in range(10_000)])
    await store.close()
