"""Acceptance checks of the fence that PostgreSQL keeps for runs; leases are judged by the server's own clock."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator

import pytest

from gristmill.adapters.postgres import PostgresRuns, PostgresServer
from gristmill.domain.errors import StaleRead
from gristmill.ports.fencing import Ended, RunName, Started
from tests.on_postgres.servers import fresh_server

WITHIN_S = 60.0
RUN = RunName("enrich", "42")

WORKER = """
import asyncio
import sys

from gristmill.adapters.postgres import PostgresRuns, PostgresServer, PostgresTarget
from gristmill.domain.errors import StaleRead
from gristmill.ports.fencing import RunName


async def work() -> None:
    server = PostgresServer(PostgresTarget(sys.argv[1], schema=sys.argv[2]))
    runs, run = PostgresRuns(server), RunName("enrich", "42")
    started = await runs.start(run, owner="frozen", lease_ms=1_000)
    print(f"started {started.epoch}", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    try:
        await runs.store(run, epoch=started.epoch, status="done", result=b"late")
        print("stored", flush=True)
    except StaleRead:
        print("refused", flush=True)
    await server.close()


asyncio.run(work())
"""


@pytest.fixture
async def server() -> AsyncIterator[PostgresServer]:
    server = fresh_server()
    yield server
    await server.close()


async def test_AC_EN_027_a_cancelled_or_stale_run_changes_nothing_that_is_done(server: PostgresServer) -> None:
    runs = PostgresRuns(server)
    stale = await runs.start(RUN, owner="a", lease_ms=1)
    assert isinstance(stale, Started)
    async with asyncio.timeout(WITHIN_S):
        cancelled: object = None
        while not isinstance(cancelled, Started):
            cancelled = await runs.start(RUN, owner="b", lease_ms=60_000)
    assert cancelled.epoch == stale.epoch + 1
    # Whoever is cancelled gives the run back, and may have a write under way all the same.
    assert await runs.free(RUN, epoch=cancelled.epoch)
    ours = await runs.start(RUN, owner="c", lease_ms=60_000)
    assert isinstance(ours, Started)
    for epoch in (stale.epoch, cancelled.epoch):
        with pytest.raises(StaleRead):
            await runs.store(RUN, epoch=epoch, status="done", result=b"theirs")
    await runs.store(RUN, epoch=ours.epoch, status="done", result=b"ours")
    for epoch in (stale.epoch, cancelled.epoch, ours.epoch):
        with pytest.raises(StaleRead):
            await runs.store(RUN, epoch=epoch, status="failed", result=b"theirs")
        assert not await runs.renew(RUN, epoch=epoch, lease_ms=60_000)
    assert await runs.result(RUN) == ("done", b"ours")
    assert await runs.start(RUN, owner="a", lease_ms=60_000) == Ended("done")


async def test_AC_EN_028_what_a_frozen_worker_writes_after_another_has_finished_is_refused(
    server: PostgresServer,
) -> None:
    runs = PostgresRuns(server)
    target = server.target
    worker = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        WORKER,
        target.url,
        target.schema,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert worker.stdout is not None
    try:
        async with asyncio.timeout(WITHIN_S):
            assert await worker.stdout.readline() == b"started 1\n"
            os.kill(worker.pid, signal.SIGSTOP)
            taken: object = None
            while not isinstance(taken, Started):
                taken = await runs.start(RUN, owner="other", lease_ms=60_000)
                await asyncio.sleep(0.05)
            await runs.store(RUN, epoch=taken.epoch, status="done", result=b"first")
            os.kill(worker.pid, signal.SIGCONT)
            said, _ = await worker.communicate(b"go on\n")
        assert said == b"refused\n"
    finally:
        if worker.returncode is None:
            worker.kill()
            await worker.wait()
    assert await runs.result(RUN) == ("done", b"first")
