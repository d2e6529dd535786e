"""An engine of its own process that is never idle: commits runs of twelve tasks as fast as it can, until told to stop.

    python -m cases.saturating STORE NAME SYNC_DELAY_MS     with `bench/` as the working folder

Says `ready` when it works. Ends when its input ends, and prints how many runs it has committed.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import ExitStack
from pathlib import Path

import structlog
import uvloop
from cases.plan12_sqlite import Decoder, append_records, build_services

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.sqlite import SqliteStore
from gristmill.runtime.garbage import settle_heap
from gristmill.runtime.processes.switching import switch_often
from gristmill.testing.slow_disk import SlowFsync

RECORDS_AHEAD = 20_000
"""Enough for a second and more; the next ones are appended when half of them are gone."""

LOOK_S = 0.05


async def saturate(path: Path, name: str, vfs: str | None) -> int:
    clock = SystemClock()
    owner, appended = f"{name}:1", RECORDS_AHEAD
    store = SqliteStore.open(path, clock=clock, owner=owner, vfs=vfs)
    await append_records(store, appended, topic=name)
    dispatcher, engine = build_services(store, clock, Decoder(0), topic=name, owner=owner)
    settle_heap()
    switch_often()
    await dispatcher.start()
    await engine.start()
    print("ready", flush=True)
    stopped = asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    while not stopped.done():
        if (await store.log.lag(name, name)).undelivered < RECORDS_AHEAD // 2:
            await append_records(store, RECORDS_AHEAD // 2, topic=name, first=appended)
            appended += RECORDS_AHEAD // 2
        await asyncio.wait([stopped], timeout=LOOK_S)
    await dispatcher.drain()
    await engine.stop()
    await dispatcher.stop()
    lag = await store.log.lag(name, name)
    await store.close()
    return appended - lag.undelivered - lag.in_flight - lag.waiting


def main() -> None:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger("error"))
    path, name, delay_ms = Path(sys.argv[1]), sys.argv[2], float(sys.argv[3])
    with ExitStack() as disks:
        vfs = "slow" if delay_ms else None
        if vfs is not None:
            disks.enter_context(SlowFsync.registered(vfs, delay_ms=delay_ms))
        print(uvloop.run(saturate(path, name, vfs)), flush=True)


if __name__ == "__main__":
    main()
