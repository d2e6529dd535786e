"""urgent.flood.p99: how much longer urgent records wait for their plan while a flood of bulk stands in its own tier.

One process over one SQLite file, synced as in an installation: 50,000 records of bulk are there, and urgent ones are
sent 20 times a second, at fixed times. The figure is the 99th percentile of the time from the moment at which a record
was due to the call of its plan, less what it is without the flood.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from pathlib import Path

import uvloop
from cases.figure import Figure

from gristmill.adapters.clock import SystemClock, SystemRandom
from gristmill.adapters.local_host import new_owner
from gristmill.adapters.sqlite import SqliteStore
from gristmill.engine.messages.core.envelope import Envelope
from gristmill.engine.messages.core.fan_out import Jumped
from gristmill.engine.messages.core.routes import Route, Routes, RoutingTable
from gristmill.engine.messages.sending import MessageSender
from gristmill.engine.messages.service import MessageService

LIMIT_MS = 100.0
BULK = 50_000
BULK_PER_SEND = 2_000
PER_S = 20
WARM_UP = 40
BODY = b'{"text": "' + b"x" * 480 + b'"}'
TABLE = RoutingTable(
    [Routes("b", (Route("flood", "b", "bulk", ("bulk",)), Route("alarm", "b", "urgent", ("urgent",))))]
)


def measure_urgent_flood(quick: bool) -> Figure:
    """Return the added wait in milliseconds, one value for each run."""
    runs, seconds = (1, 5) if quick else (3, 10)
    measured = [uvloop.run(_measure_once(seconds)) for _ in range(runs)]
    more = {"idle_p99": statistics.median(idle for idle, _ in measured)}
    return Figure(
        runs=tuple(max(0.1, flooded - idle) for idle, flooded in measured), unit="ms", raw=LIMIT_MS, more=more
    )


async def _measure_once(seconds: int) -> tuple[float, float]:
    with tempfile.TemporaryDirectory(dir=Path(__file__).parent, prefix=".urgent-") as folder:
        clock, owner = SystemClock(), new_owner()
        store = SqliteStore.open(Path(folder) / "gristmill.db", clock=clock, owner=owner)
        waits_ms: asyncio.Queue[float] = asyncio.Queue()

        async def bulk(envelope: Envelope) -> Jumped:
            return "done"

        async def urgent(envelope: Envelope) -> Jumped:
            waits_ms.put_nowait(time.monotonic() * 1_000 - float(envelope.id))
            return "done"

        sender = MessageSender(store.log, TABLE, clock)
        jumps = {"bulk": bulk, "urgent": urgent}
        service = MessageService(
            store.log, store.cache, clock, SystemRandom(), table=TABLE, jumps=jumps, owner=owner, order=store.log
        )
        stop = asyncio.Event()
        working = asyncio.create_task(service.run(stop))
        await _send(sender, waits_ms, count=WARM_UP)
        idle_ms = await _send(sender, waits_ms, count=seconds * PER_S)
        for start in range(0, BULK, BULK_PER_SEND):
            numbers = range(start, start + BULK_PER_SEND)
            await sender.send([Envelope(id=f"{n}", type="flood", key=f"{n % 1_000}", body=BODY) for n in numbers])
        flooded_ms = await _send(sender, waits_ms, count=seconds * PER_S)
        if not (await store.log.lag("messages.b.bulk", "messages")).undelivered:
            raise AssertionError("the flood was over before the measurement")
        stop.set()
        await working
        await store.close()
        return idle_ms, flooded_ms


async def _send(sender: MessageSender, waits_ms: asyncio.Queue[float], *, count: int) -> float:
    """Send at fixed times and return the 99th percentile of the waits, in milliseconds."""
    begin_ms = time.monotonic() * 1_000
    due_ms = [begin_ms + number * 1_000 / PER_S for number in range(count)]
    for at_ms in due_ms:
        await asyncio.sleep(max(0.0, at_ms / 1_000 - time.monotonic()))
        await sender.send([Envelope(id=str(at_ms), type="alarm", key=str(at_ms), body=BODY)])
    return statistics.quantiles([await waits_ms.get() for _ in due_ms], n=100)[98]
