"""cycle.sqlite: 100 records of 500 bytes appended, claimed and accepted in the embedded log, beside bare SQL.

The bare tables do the same work in the same three synced transactions: insert the records, note who holds them and move
a cursor, delete the notes. What they lack is topics, groups, fences, dead owners, and other processes that take turns.
"""

from __future__ import annotations

import asyncio
import gc
import statistics
import tempfile
import time
from pathlib import Path

import apsw
from cases.figure import Figure

from gristmill.adapters.clock import SystemClock
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


def _measure(batches: int) -> tuple[float, float]:
    with tempfile.TemporaryDirectory(dir=Path(__file__).parent, prefix=".store-") as folder:
        ours_s = asyncio.run(_cycle(Path(folder) / "store.sqlite", batches))
        bare_s = _bare(Path(folder) / "bare.sqlite", batches)
    return batches * BATCH / ours_s, batches * BATCH / bare_s


async def _cycle(path: Path, batches: int) -> float:
    store = SqliteStore.open(path, clock=SystemClock(), owner="bench")
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
