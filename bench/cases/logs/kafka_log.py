"""cycle.kafka, latency.kafka and idle.kafka: the log on a Kafka broker of its own, a cycle beside the bare client.

In a cycle both read what was appended before the clock runs, 500 records of 500 bytes at a time: ours claims, which
commits every start before a record is handed out, and accepts each; the bare client consumes and commits one offset a
batch.
"""

from __future__ import annotations

import asyncio
import atexit
import gc
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path

from cases.figure import Figure
from cases.logs.counting import RequestCounter
from cases.logs.running import idle_figure, latency_figure, measure_idle, measure_latency
from confluent_kafka import Consumer

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.kafka import KafkaLog, KafkaSettings
from gristmill.domain.log import NewRecord
from gristmill.testing.kafka_broker import KafkaBroker

BATCH = 500
VALUE = b"x" * 500
LEASE_MS = 30_000


def measure_cycle_kafka(quick: bool) -> Figure:
    """Return records a second through claim and accept, beside the bare client's."""
    count, runs = (10_000, 3) if quick else (50_000, 5)
    pairs = [asyncio.run(_cycle(_shared_broker().address, count, f"cycle{number}.")) for number in range(runs)]
    return Figure(
        runs=tuple(ours for ours, _ in pairs),
        unit="records/s",
        raw=round(statistics.median(bare for _, bare in pairs)),
        less_is_better=False,
    )


def measure_latency_kafka(quick: bool) -> Figure:
    """Return the 99th percentile from append to the start of the handler at 500 records a second, in ms."""
    seconds, runs = (1.0, 1) if quick else (10.0, 3)

    async def run(brokers: str, prefix: str) -> tuple[float, float]:
        producer, consumer = _open(brokers, prefix), _open(brokers, prefix)
        try:
            return await measure_latency(producer, consumer, topic="t", seconds=seconds)
        finally:
            await producer.close()
            await consumer.close()

    brokers = _shared_broker().address
    return latency_figure([asyncio.run(run(brokers, f"latency{number}.")) for number in range(runs)])


def measure_idle_kafka(quick: bool) -> Figure:
    """Return requests a second that one waiting consumer costs the broker."""
    seconds, runs = (2.0, 1) if quick else (15.0, 3)

    async def run(counter: RequestCounter, prefix: str) -> float:
        log = _open(f"127.0.0.1:{counter.port}", prefix)
        try:
            return await measure_idle(log, lambda: counter.count, topic="t", seconds=seconds)
        finally:
            await log.close()

    with _counted_broker() as counter:
        found = [asyncio.run(run(counter, f"run{number}.")) for number in range(runs)]
    return idle_figure(found, unit="requests/s")


@cache
def _shared_broker() -> KafkaBroker:
    """Return a broker that ends with the program: a start takes as long as a short measurement."""
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(_broker())


@contextmanager
def _broker() -> Iterator[KafkaBroker]:
    with tempfile.TemporaryDirectory(dir=Path(__file__).parent, prefix=".kafka-") as folder:
        broker = KafkaBroker(Path(folder))
        broker.start()
        try:
            yield broker
        finally:
            broker.stop()


@contextmanager
def _counted_broker() -> Iterator[RequestCounter]:
    with tempfile.TemporaryDirectory(dir=Path(__file__).parent, prefix=".kafka-") as folder:
        broker = KafkaBroker(Path(folder))
        counter = RequestCounter(broker.port)
        broker.advertise(counter.port)
        broker.start()
        try:
            yield counter
        finally:
            counter.close()
            broker.stop()


def _open(brokers: str, prefix: str) -> KafkaLog:
    return KafkaLog(KafkaSettings(brokers=brokers, prefix=prefix, partition_count=1), SystemClock())


async def _cycle(brokers: str, count: int, prefix: str) -> tuple[float, float]:
    """Return (records a second of ours, of the bare client), each from the first record that came in."""
    log = _open(brokers, prefix)
    for _ in range(count // BATCH):
        await log.append("t", [NewRecord(VALUE)] * BATCH)
    gc.collect()
    done, began = 0, 0.0
    while done < count:
        deliveries = await log.claim("t", "g", owner="me", limit=BATCH, lease_ms=LEASE_MS)
        if not deliveries:
            await log.wait(["t"], timeout_ms=1_000)
            continue
        began = began or time.perf_counter()
        await log.accept([one.lease for one in deliveries])
        done += len(deliveries)
    ours_s = time.perf_counter() - began
    await log.close()
    return count / ours_s, count / await asyncio.to_thread(_bare_s, brokers, count, f"{prefix}t")


def _bare_s(brokers: str, count: int, topic: str) -> float:
    consumer = Consumer(
        {
            "bootstrap.servers": brokers,
            "group.id": f"{topic}.bare",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe([topic])
    gc.collect()
    done, began = 0, 0.0
    while done < count:
        messages = consumer.consume(BATCH, 1.0)
        if messages:
            began = began or time.perf_counter()
            done += len(messages)
            consumer.commit(asynchronous=False)
    bare_s = time.perf_counter() - began
    consumer.close()
    return bare_s
