"""cycle.sqlite, latency.sqlite and idle.sqlite: the embedded log, a cycle beside bare SQL.

A cycle appends 100 records of 500 bytes, claims them and accepts them. The bare tables do the same work in the same
three synced transactions: insert the records, note who holds them and move a cursor, delete the notes. What they lack:
topics, groups, fences, dead owners, and other processes that take turns.
"""

from __future__ import annotations

import asyncio
import gc
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
from cases.figure import Figure
from cases.logs.counting import counting_statements
from cases.logs.running import idle_figure, latency_figure, measure_idle, measure_latency

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.local_host import new_owner
from gristmill.adapters.sqlite import SqliteStore
from gristmill.domain.log import NewRecord

BATCH = 100
VALUE = b"x" * 500
LEASE_MS = 30_000
TABLES = """
PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
CREATE TABLE log(position INTEGER PRIMARY KEY, at_ms INTEGER, value BLOB);
CREATE TABLE lease(position INTEGER PRIMARY KEY, owner INTEGER, until_ms INTEGER);
CREATE TABLE cursor(position INTEGER);
INSERT INTO cursor VALUES(0);
"""


def measure_cycle_sqlite(quick: bool) -> Figure:
    """Return records a second through append, claim and accept, beside those of bare SQL."""
    batches, runs = (50, 3) if quick else (300, 5)
    pairs = [_measure(batches) for _ in range(runs)]
    return Figure(
        runs=tuple(ours for ours, _ in pairs),
        unit="records/s",
        raw=round(statistics.median(bare for _, bare in pairs)),
        less_is_better=False,
    )


def measure_latency_sqlite(quick: bool) -> Figure:
    """Return the 99th percentile from append to the start of the handler at 500 records a second, in ms."""
    seconds, runs = (1.0, 1) if quick else (10.0, 3)

    async def run(path: Path) -> tuple[float, float]:
        producer, consumer = _open(path), _open(path)
        try:
            return await measure_latency(producer.log, consumer.log, topic="posts", seconds=seconds)
        finally:
            await producer.close()
            await consumer.close()

    with _folder() as folder:
        return latency_figure([asyncio.run(run(folder / f"{number}.sqlite")) for number in range(runs)])


def measure_idle_sqlite(quick: bool) -> Figure:
    """Return statements a second that one waiting consumer costs."""
    seconds, runs = (2.0, 1) if quick else (10.0, 3)

    async def run(path: Path) -> float:
        with counting_statements() as counted:
            store = _open(path)
            try:
                return await measure_idle(store.log, lambda: counted[0], topic="posts", seconds=seconds)
            finally:
                await store.close()

    with _folder() as folder:
        found = [asyncio.run(run(folder / f"{number}.sqlite")) for number in range(runs)]
    return idle_figure(found, unit="statements/s")


def _measure(batches: int) -> tuple[float, float]:
    with _folder() as folder:
        ours_s = asyncio.run(_cycle(folder / "store.sqlite", batches))
        bare_s = _bare(folder / "bare.sqlite", batches)
    return batches * BATCH / ours_s, batches * BATCH / bare_s


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=Path(__file__).parent, prefix=".store-") as folder:
        yield Path(folder)


def _open(path: Path) -> SqliteStore:
    return SqliteStore.open(path, clock=SystemClock(), owner=new_owner())


async def _cycle(path: Path, batches: int) -> float:
    store = _open(path)
    records = [NewRecord(VALUE)] * BATCH
    gc.collect()
    began = time.perf_counter()
    for _ in range(batches):
        await store.log.append("posts", records)
        deliveries = await store.log.claim("posts", "g", owner="bench", limit=BATCH, lease_ms=LEASE_MS)
        await store.log.accept([one.lease for one in deliveries])
    spent_s = time.perf_counter() - began
    await store.close()
    return spent_s


def _bare(path: Path, batches: int) -> float:
    db = apsw.Connection(str(path))
    db.execute(TABLES).fetchall()
    gc.collect()
    began = time.perf_counter()
    for _ in range(batches):
        with db:
            db.executemany("INSERT INTO log(at_ms, value) VALUES(1, ?)", [(VALUE,)] * BATCH)
        with db:
            after = db.execute("SELECT position FROM cursor").get
            taken = db.execute(
                "SELECT position, value FROM log WHERE position > ? ORDER BY position LIMIT ?", (after, BATCH)
            ).fetchall()
            db.executemany("INSERT INTO lease VALUES(?, 1, 2)", [(position,) for position, _ in taken])
            db.execute("UPDATE cursor SET position = ?", (taken[-1][0],))
        with db:
            db.executemany("DELETE FROM lease WHERE position = ?", [(position,) for position, _ in taken])
    spent_s = time.perf_counter() - began
    db.close()
    return spent_s
