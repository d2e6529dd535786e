"""A process with one Runner, for tests that stop, freeze and count it: `python -m tests.runners.process '<json>'`.

It writes one line for every record that its handler begins, and ends with the signal SIGTERM.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

import msgspec
import structlog

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.kafka import KafkaLog, KafkaSettings
from gristmill.adapters.local_host import new_owner
from gristmill.adapters.redis import RedisLog, RedisServer, RedisTarget
from gristmill.adapters.sqlite import SqliteStore
from gristmill.engine.runner import Runner, RunnerSettings
from gristmill.ports.handling import Handling
from gristmill.ports.log import Log
from tests.runners.driving import result_of


class Order(msgspec.Struct):
    """What the process is to do.

    Attributes:
        path: of the log on SQLite, or of the state beside another log.
        does: `quick` ends at once; `slow` ends at once for even values and never for odd ones; `store` stores its name
            under its fence once it is cancelled; `die` ends its process by force for the value `poison`.
    """

    path: str
    does: str
    settings: RunnerSettings
    redis_url: str = ""
    kafka: KafkaSettings | None = None


class Work:
    """The handler."""

    def __init__(self, order: Order, store: SqliteStore) -> None:
        self._order = order
        self._store = store

    async def __call__(self, handling: Handling) -> None:
        value = handling.delivery.value.decode()
        say(f"begun {value} {handling.attempt}")
        match self._order.does:
            case "slow" if int(value) % 2:
                await asyncio.Event().wait()
            case "die" if value == "poison":
                os.kill(os.getpid(), signal.SIGKILL)
            case "store":
                await self._store_late(handling)

    async def _store_late(self, handling: Handling) -> None:
        lease = handling.delivery.lease
        await self._store.state.fence([lease], until_ms=handling.delivery.appended_at_ms + 3_600_000)
        say("waits")
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        [answer] = await self._store.state.commit([result_of(lease, "late")])
        say(f"stored {type(answer).__name__}")


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


async def run(order: Order) -> None:
    clock, owner = SystemClock(), new_owner()
    store = SqliteStore.open(
        Path(order.path), clock=clock, owner=owner, is_log_apart=bool(order.redis_url or order.kafka)
    )
    log: Log = store.log
    if order.kafka is not None:
        log = KafkaLog(order.kafka, clock)
    elif order.redis_url:
        log = RedisLog(RedisServer(RedisTarget(url=order.redis_url)), clock)
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    await Runner(log, "t", "g", Work(order, store), order.settings, clock=clock, owner=owner).run(stop)
    if log is not store.log:
        await log.close()  # type: ignore[attr-defined]
    await store.close()


if __name__ == "__main__":
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    asyncio.run(run(msgspec.json.decode(sys.argv[1].encode(), type=Order)))
