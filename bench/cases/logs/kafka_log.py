"""cycle.kafka: the log on a Kafka broker of its own, beside what the bare client does there.

Both read what was appended before the clock runs, 500 records of 500 bytes at a time: ours claims, which commits every
start before a record is handed out, and accepts each; the bare client consumes and commits one offset a batch.
"""

from __future__ import annotations

import asyncio
import gc
import statistics
import tempfile
import time
from pathlib import Path

from cases.figure import Figure
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
    count, runs = (20_000, 3) if quick else (50_000, 5)
    with tempfile.TemporaryDirectory(dir=Path(__file__).parent, prefix=".kafka-") as folder:
        broker = KafkaBroker(Path(folder))
        broker.start()
        try:
            pairs = [asyncio.run(_cycle(broker.address, count, f"run{number}.")) for number in range(runs)]
        finally:
            broker.stop()
    return Figure(
        runs=tuple(ours for ours, _ in pairs),
        unit="records/s",
        raw=round(statistics.median(bare for _, bare in pairs)),
        less_is_better=False,
    )


async def _cycle(brokers: str, count: int, prefix: str) -> tuple[float, float]:
    """Return (records a second of ours, of the bare client), each from the first record that came in."""
    log = KafkaLog(KafkaSettings(brokers=brokers, prefix=prefix, partition_count=1), SystemClock())
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
