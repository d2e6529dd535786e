"""plan12.sqlite: CPU per run of the whole service in one process, everything durable in one SQLite file.

Records that were appended before are claimed, decoded, given ids, taken through a plan of twelve inline tasks and
committed: item, run, 12 cells of 200 bytes, 2 events and the acceptance of the record in one guarded commit for many
runs, synced to disk. Event loop and heap are set up as in every process of a group. The figure is the CPU time of all
threads from the first claim to the last result, by runs.
"""

from __future__ import annotations

import asyncio
import gc
import tempfile
import time
from pathlib import Path

import structlog
import uvloop
from cases.figure import Figure
from cases.plan12_memory import build_graph
from prometheus_client import CollectorRegistry

from gristmill.adapters.clock import SeededRandom, SystemClock
from gristmill.adapters.local_host import RunningMarks
from gristmill.adapters.sqlite import SqliteStore
from gristmill.domain.intake import MappedRecord, Violations
from gristmill.domain.log import Delivery, NewRecord
from gristmill.engine.dispatcher import Dispatcher
from gristmill.engine.link import LocalLink
from gristmill.engine.metrics import DispatcherMetrics, EngineMetrics
from gristmill.engine.service import Engine
from gristmill.engine.settings import DispatcherSettings, EngineSettings
from gristmill.intake.ids import SegmentIds
from gristmill.plans.plan import Generator
from gristmill.plans.registry import RegisteredPlan
from gristmill.runtime.garbage import settle_heap

US_PER_RUN_MAX = 100.0
"""The budget for a run of twelve tasks with its commit; an early prototype took 68."""

TEXT_BYTES = 200
RECORDS_PER_APPEND = 1_000
MAX_IN_FLIGHT = 512
OWNER = "bench:1"


def measure_plan12_sqlite(quick: bool) -> Figure:
    """Return microseconds of CPU per run, one value for each batch of runs on a store of its own."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger("error"))
    batches, runs_per_batch = (3, 5_000) if quick else (5, 20_000)
    values = tuple(uvloop.run(measure_once(runs_per_batch)) for _ in range(batches))
    return Figure(runs=values, unit="us CPU/run", raw=US_PER_RUN_MAX)


async def measure_once(run_count: int) -> float:
    """Take `run_count` records through the service and return microseconds of CPU for each."""
    with tempfile.TemporaryDirectory(dir=Path(__file__).parent, prefix=".plan12-") as folder:
        clock = SystemClock()
        store = SqliteStore.open(Path(folder) / "gristmill.db", clock=clock, owner=OWNER)
        await append_records(store, run_count)
        decoder = Decoder(run_count)
        dispatcher, engine = build_services(store, clock, decoder)
        settle_heap()
        began = time.process_time()
        await dispatcher.start()
        await engine.start()
        await decoder.has_seen_all.wait()
        await dispatcher.drain()
        spent = time.process_time() - began
        await engine.stop()
        await dispatcher.stop()
        counts = await store.state.counts()
        await store.close()
    gc.unfreeze()
    if counts["runs.done"] != run_count:
        raise AssertionError(f"{counts} instead of {run_count} runs")
    return spent * 1e6 / run_count


async def append_records(store: SqliteStore, count: int, *, topic: str = "posts", first: int = 0) -> None:
    """Append `count` records, numbered from `first`."""
    for start in range(first, first + count, RECORDS_PER_APPEND):
        numbers = range(start, min(first + count, start + RECORDS_PER_APPEND))
        await store.log.append(
            topic, [NewRecord(f"{number:08d}".encode().ljust(TEXT_BYTES, b"x")) for number in numbers]
        )


def build_services(
    store: SqliteStore, clock: SystemClock, decoder: Decoder, *, topic: str = "posts", owner: str = OWNER
) -> tuple[Dispatcher, Engine]:
    """Return a dispatcher and an engine that take the records of one topic through the plan."""
    link, registry = LocalLink(), CollectorRegistry()
    generators = [Generator(type=topic, topic=topic, plans=("plan12",))]
    dispatcher = Dispatcher(
        log=store.log,
        generators=generators,
        link=link,
        clock=clock,
        random=SeededRandom(1),
        owner=owner,
        settings=DispatcherSettings(max_in_flight=MAX_IN_FLIGHT),
        metrics=DispatcherMetrics(registry),
    )
    engine = Engine(
        link=link.engine_side(),
        state=store.state,
        log=store.log,
        clock=clock,
        ids=SegmentIds(store.state, clock),
        owner=owner,
        generators=generators,
        plans={"plan12": RegisteredPlan(build_graph(), "bench", "shadow")},
        resources={},
        decode=decoder,
        settings=EngineSettings(capacity=MAX_IN_FLIGHT),
        metrics=EngineMetrics(registry),
        marks=RunningMarks(store.owners_folder, owner),
    )
    return dispatcher, engine


class Decoder:
    """Takes the value for the text, and says when it has seen the last record."""

    def __init__(self, record_count: int) -> None:
        self._left = record_count
        self.has_seen_all = asyncio.Event()

    def __call__(self, delivery: Delivery, generator: Generator) -> MappedRecord | Violations:
        self._left -= 1
        if not self._left:
            self.has_seen_all.set()
        text = delivery.value.decode()
        return MappedRecord(text[:8], generator.kind, generator.topic, text)
