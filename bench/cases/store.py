"""store.commit and store.log: CPU per run and per record of the SQLite store alone, without engine or flow.

A run is what a flow of twelve tasks leaves behind: 12 cells of 200 bytes, 2 events, a new item, its record accepted;
128 of them a commit, synced to disk. A record is appended (500 bytes) and claimed, 1,024 at a time: a turn has a price
of its own, which only a batch makes small.
"""

from __future__ import annotations

import asyncio
import gc
import tempfile
import time
from pathlib import Path

from cases.figure import Figure

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.sqlite import SqliteStore
from gristmill.domain.commit import RunCommit
from gristmill.domain.ids import ItemId, compute_run_id
from gristmill.domain.item import Cell, Item
from gristmill.domain.log import Delivery, NewRecord
from gristmill.domain.run import Event, TaskReport

RECORDS_PER_CALL = 1_024
RUNS_PER_COMMIT = 128
COMMIT_US_MAX = 30.0
LOG_US_MAX = 6.0
"""Budgets for a run and a record; both lie within the budget of the whole path."""

VALUE = b"x" * 500
TEXT = "a post of ordinary length that says nothing in particular " * 5
TASKS = tuple(TaskReport(f"task_{number}", "done", 1, number, 10) for number in range(12))
CELLS = tuple(Cell(f"field_{number}", {"text": "v" * 180}, f"task_{number}", "op", "1") for number in range(12))


def measure_store_commit(quick: bool) -> Figure:
    """Return microseconds of CPU per committed run, one value for each store."""
    return Figure(runs=tuple(commit for commit, _ in _measure(quick)), unit="us CPU/run", raw=COMMIT_US_MAX)


def measure_store_log(quick: bool) -> Figure:
    """Return microseconds of CPU per appended and claimed record, one value for each store."""
    return Figure(runs=tuple(log for _, log in _measure(quick)), unit="us CPU/record", raw=LOG_US_MAX)


def _measure(quick: bool) -> list[tuple[float, float]]:
    stores, batches = (3, 5) if quick else (5, 20)
    return [asyncio.run(_fill_a_store(batches)) for _ in range(stores)]


async def _fill_a_store(batches: int) -> tuple[float, float]:
    """Return (CPU per run, CPU per record) in microseconds."""
    with tempfile.TemporaryDirectory(dir=Path(__file__).parent, prefix=".store-") as folder:
        store = SqliteStore.open(Path(folder) / "store.sqlite", clock=SystemClock(), owner="bench")
        log_s = commit_s = 0.0
        gc.collect()
        gc.freeze()
        for _ in range(batches):
            began = time.process_time()
            await store.log.append("posts", [NewRecord(VALUE)] * RECORDS_PER_CALL)
            deliveries = await store.log.claim("posts", "bench", owner="bench", limit=RECORDS_PER_CALL, lease_ms=30_000)
            log_s += time.process_time() - began
            for start in range(0, RECORDS_PER_CALL, RUNS_PER_COMMIT):
                commits = [_make_commit(delivery) for delivery in deliveries[start : start + RUNS_PER_COMMIT]]
                began = time.process_time()
                await store.state.commit(commits)
                commit_s += time.process_time() - began
        await store.close()
    gc.unfreeze()
    count = batches * RECORDS_PER_CALL
    return commit_s * 1e6 / count, log_s * 1e6 / count


def _make_commit(delivery: Delivery) -> RunCommit:
    position = delivery.lease.offset
    run_id = compute_run_id(generator="bench", topic="posts", offset=position, plan="twelve")
    item_id = ItemId(20_261_130 * 10**11 + position)
    return RunCommit(
        run_id=run_id,
        plan="twelve",
        plan_version=1,
        generator="bench",
        item=Item(item_id, source="bench", input_id=f"post-{position}", revision=position, text=TEXT),
        position=position,
        status="done",
        started_at_ms=1,
        ended_at_ms=2,
        is_new_item=True,
        lease=delivery.lease,
        accept=True,
        tasks=TASKS,
        cells=CELLS,
        events=(Event("item.ingested", item_id, run_id, 1), Event("run.ended", item_id, run_id, 2, {"status": "done"})),
    )
