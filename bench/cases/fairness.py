"""publish.p99 and publish.slow_disk.p99: how long a publisher waits while two engines commit as fast as they can.

Two engines, each a process of its own, take records through a plan of twelve tasks over one SQLite file, synced with
every commit. A third process appends one record 200 times a second, at fixed times. The figure is the 99th percentile
of the time from the moment at which a record was due to the moment at which it was durable, so a publisher that falls
behind is charged for it. On the slow disk every sync takes 4 ms longer.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import uvloop
from cases.figure import Figure

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.sqlite import SqliteStore
from gristmill.domain.log import NewRecord
from gristmill.runtime.garbage import settle_heap
from gristmill.testing.slow_disk import SlowFsync

P99_MS_MAX = 15.0
P99_SLOW_DISK_MS_MAX = 60.0
SLOW_DISK_MS = 4.0

ENGINES = ("one", "two")
RECORDS_PER_S = 200
VALUE = b"x" * 500
WARM_UP_S = 1.0
"""Until the engines are at full speed and the write-ahead log has been copied for the first time."""


def measure_publish(quick: bool) -> Figure:
    """Return the 99th percentile in milliseconds on the disk as it is, one value for each run."""
    return _measure(quick, delay_ms=0.0, limit_ms=P99_MS_MAX)


def measure_publish_slow_disk(quick: bool) -> Figure:
    """Return the 99th percentile in milliseconds on a disk whose syncs take 4 ms longer, one value for each run."""
    return _measure(quick, delay_ms=SLOW_DISK_MS, limit_ms=P99_SLOW_DISK_MS_MAX)


def _measure(quick: bool, *, delay_ms: float, limit_ms: float) -> Figure:
    runs, seconds = (1, 4) if quick else (3, 10)
    values = tuple(_measure_once(seconds, delay_ms) for _ in range(runs))
    return Figure(runs=values, unit="ms p99", raw=limit_ms)


def _measure_once(seconds: int, delay_ms: float) -> float:
    with tempfile.TemporaryDirectory(dir=Path(__file__).parent, prefix=".publish-") as folder, ExitStack() as disks:
        path = Path(folder) / "gristmill.db"
        if delay_ms:
            disks.enter_context(SlowFsync.registered("slow", delay_ms=delay_ms))
        with _engines(path, delay_ms):
            return uvloop.run(_publish(path, seconds, vfs="slow" if delay_ms else None))


@contextmanager
def _engines(path: Path, delay_ms: float) -> Iterator[None]:
    command = [sys.executable, "-m", "cases.saturating", str(path)]
    with ExitStack() as running:
        engines = [
            running.enter_context(
                subprocess.Popen(
                    [*command, name, str(delay_ms)],
                    cwd=Path(__file__).parent.parent,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            for name in ENGINES
        ]
        for engine in engines:
            assert engine.stdout is not None
            if engine.stdout.readline().strip() != "ready":
                raise AssertionError("an engine did not start")
        yield
        for engine in engines:
            done, _ = engine.communicate()
            print(f"an engine committed {done.strip()} runs", file=sys.stderr)
            if engine.returncode or int(done) == 0:
                raise AssertionError("an engine did nothing")


async def _publish(path: Path, seconds: int, *, vfs: str | None) -> float:
    store = SqliteStore.open(path, clock=SystemClock(), owner="publisher:1", vfs=vfs)
    settle_heap()
    await _publish_for(store, WARM_UP_S)
    waits_s = sorted(await _publish_for(store, seconds))
    await store.close()
    return waits_s[round(len(waits_s) * 0.99) - 1] * 1_000


async def _publish_for(store: SqliteStore, seconds: float) -> list[float]:
    """Append at fixed times and return how long each record took, in seconds from when it was due."""
    began_s = time.perf_counter()

    async def append(due_s: float) -> float:
        await store.log.append("published", [NewRecord(VALUE)])
        return time.perf_counter() - due_s

    async with asyncio.TaskGroup() as group:
        appends = []
        for number in range(round(seconds * RECORDS_PER_S)):
            due_s = began_s + number / RECORDS_PER_S
            await asyncio.sleep(max(0.0, due_s - time.perf_counter()))
            appends.append(group.create_task(append(due_s)))
    return [append.result() for append in appends]
