"""cycle.redis, latency.redis and idle.redis: the log on a Redis of its own, a cycle beside what the bare client does.

A cycle appends 100 records of 500 bytes, claims them and accepts them; the bare client reads 100 with XREADGROUP and
acknowledges them with one XACK, its records appended before the clock runs. The server writes its append-only file and
syncs it every second, both times.
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

import redis.asyncio
from cases.figure import Figure
from cases.logs.running import idle_figure, latency_figure, measure_idle, measure_latency

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.redis import RedisLog, RedisServer, RedisTarget
from gristmill.domain.log import NewRecord
from gristmill.testing.redis_server import RedisProcess

BATCH = 100
SLICE = 5
"""Batches of one side before it is the other's turn."""

VALUE = b"x" * 500
IDLE_S = 10.0
LEASE_MS = 30_000


def measure_cycle_redis(quick: bool) -> Figure:
    """Return records a second through append, claim and accept, beside the bare client's."""
    batches, runs = (50, 3) if quick else (300, 5)
    with _server() as process:
        pairs = [asyncio.run(_cycle(process, batches, f"t{number}")) for number in range(runs)]
    return Figure(
        runs=tuple(ours for ours, _ in pairs),
        unit="records/s",
        raw=round(statistics.median(bare for _, bare in pairs)),
        less_is_better=False,
    )


def measure_latency_redis(quick: bool) -> Figure:
    """Return the 99th percentile from append to the start of the handler at 500 records a second, in ms."""
    seconds, runs = (1.0, 1) if quick else (10.0, 3)

    async def run(topic: str) -> tuple[float, float]:
        producer, consumer = _open(process), _open(process)
        try:
            return await measure_latency(producer, consumer, topic=topic, seconds=seconds)
        finally:
            await producer.close()
            await consumer.close()

    with _server() as process:
        return latency_figure([asyncio.run(run(f"l{number}")) for number in range(runs)])


def measure_idle_redis(quick: bool) -> Figure:
    """Return commands a second that one waiting consumer costs the server, those inside scripts included."""
    seconds, runs = (2.0, 1) if quick else (IDLE_S, 3)

    def count() -> int:
        return int(process.say("INFO", "stats").split(b"total_commands_processed:")[1].split(b"\r\n")[0])

    async def run(topic: str) -> float:
        log = _open(process)
        try:
            return await measure_idle(log, count, topic=topic, seconds=seconds)
        finally:
            await log.close()

    with _server() as process:
        return idle_figure([asyncio.run(run(f"i{number}")) for number in range(runs)], unit="commands/s")


@contextmanager
def _server() -> Iterator[RedisProcess]:
    with tempfile.TemporaryDirectory(dir=Path(__file__).parent, prefix=".redis-") as folder:
        # Its file is not rewritten meanwhile: that would slow down whoever is being measured just then.
        process = RedisProcess(Path(folder), options=("appendfsync everysec", "auto-aof-rewrite-percentage 0"))
        process.start()
        try:
            yield process
        finally:
            process.stop()


def _open(process: RedisProcess) -> RedisLog:
    return RedisLog(RedisServer(RedisTarget(url=process.url)), SystemClock())


async def _cycle(process: RedisProcess, batches: int, topic: str) -> tuple[float, float]:
    """Return (records a second of ours, of the bare client); the two take turns, so that both meet the same machine."""
    log, client, bare_topic = _open(process), redis.asyncio.Redis(port=process.port), f"bare-{topic}"
    await _append_bare(client, batches, bare_topic)
    await _cycle_ours(log, 1, topic)
    gc.collect()
    ours_s = bare_s = 0.0
    for _ in range(batches // SLICE):
        began = time.perf_counter()
        await _cycle_ours(log, SLICE, topic)
        between = time.perf_counter()
        await _cycle_bare(client, SLICE, bare_topic)
        ours_s += between - began
        bare_s += time.perf_counter() - between
    await log.close()
    await client.aclose()
    return batches * BATCH / ours_s, batches * BATCH / bare_s


async def _cycle_ours(log: RedisLog, batches: int, topic: str) -> None:
    records = [NewRecord(VALUE)] * BATCH
    for _ in range(batches):
        await log.append(topic, records)
        deliveries = await log.claim(topic, "g", owner="me", limit=BATCH, lease_ms=LEASE_MS)
        await log.accept([one.lease for one in deliveries])


async def _append_bare(client: redis.asyncio.Redis, batches: int, stream: str) -> None:
    for _ in range(batches):
        pipeline = client.pipeline(transaction=False)
        for _ in range(BATCH):
            pipeline.xadd(stream, {"v": VALUE, "t": b"1700000000000"})
        await pipeline.execute()
    await client.xgroup_create(stream, "g", id="0")


async def _cycle_bare(client: redis.asyncio.Redis, batches: int, stream: str) -> None:
    for _ in range(batches):
        [[_, entries]] = await client.xreadgroup("g", "me", {stream: ">"}, count=BATCH)
        await client.xack(stream, "g", *[place for place, _ in entries])
