"""A process that publishes numbered items into a state folder and sends them, until it is done or killed.

    python -m tests.e2e.outbox.publisher FOLDER FIRST COUNT BACKEND ADDRESS PREFIX

Prints each number whose publication was answered. What an earlier one has published and not sent it sends too.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.local_host import new_owner
from gristmill.adapters.sqlite import SqliteStore
from gristmill.domain.front.publication import Once
from gristmill.ports.outbox import Outlet
from tests.apart.outboxes import open_state, publication, pump_of

DAY_MS = 86_400_000
NUMBERS_PER_PASS = 5


def open_log(store: SqliteStore, backend: str, address: str, prefix: str) -> tuple[Any, Outlet]:
    """Return the log of a backend and the way into it."""
    if backend == "redis":
        from gristmill.adapters.redis import RedisLog, RedisOutlet, RedisServer, RedisTarget

        server = RedisServer(RedisTarget(url=address, prefix=prefix))
        redis_log = RedisLog(server, SystemClock())
        return redis_log, RedisOutlet(redis_log, server)
    from gristmill.adapters.kafka import KafkaLog, KafkaOutlet, KafkaSettings

    settings = KafkaSettings(brokers=address, prefix=prefix, partition_count=2, settle_ms=30_000, drain_ms=0)
    kafka_log = KafkaLog(settings, SystemClock(), origins=store.origins)
    return kafka_log, KafkaOutlet(kafka_log)


async def publish(folder: Path, numbers: range, *, backend: str, address: str, prefix: str) -> None:
    """Publish numbers, and return when all that was published is sent and forgotten."""
    clock = SystemClock()
    store = open_state(folder / "store.sqlite", clock, owner=new_owner())
    log, outlet = open_log(store, backend, address, prefix)
    pump = pump_of(store.outbox, outlet, clock)
    for number in numbers:
        once = Once(f"number {number}", "same", clock.now_ms() + DAY_MS)
        await store.front.inlet.publish([publication(f"n{number}", number + 1)], once=once)
        print(number, flush=True)
        if number % NUMBERS_PER_PASS == 0:
            await pump.run_once()
    while await pump.run_once():
        continue
    while await store.outbox.clean_up(outlet.forget, limit=100):
        continue
    await log.close()
    await store.close()


if __name__ == "__main__":
    folder, first, count, backend, address, prefix = sys.argv[1:]
    numbers = range(int(first), int(first) + int(count))
    asyncio.run(publish(Path(folder), numbers, backend=backend, address=address, prefix=prefix))
