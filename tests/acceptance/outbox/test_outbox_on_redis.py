"""Acceptance checks of the outbox with a log on Redis; the Valkey of a wheel stands for the server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from gristmill.adapters.postgres import PostgresOutbox
from gristmill.adapters.redis import RedisLog, RedisOutlet, RedisServer, RedisTarget
from gristmill.domain.errors import Unavailable
from gristmill.ports.outbox import Outbox
from gristmill.testing.clock import FakeClock
from gristmill.testing.contracts.outbox import outbox_rows
from gristmill.testing.faults import armed
from gristmill.testing.redis_server import RedisProcess
from tests.acceptance.outbox.checks import ApartLog, OutboxChecks, values_of
from tests.apart.outboxes import open_state, pump_of
from tests.on_postgres.servers import fresh_server
from tests.redis_servers import program_or_skip


@pytest.fixture(scope="module", params=[pytest.param("valkey"), pytest.param("redis", marks=pytest.mark.cluster)])
def process(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisProcess]:
    process = RedisProcess(tmp_path_factory.mktemp("redis"), program=program_or_skip(request.param))
    process.start()
    yield process
    process.stop()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def apart(process: RedisProcess, clock: FakeClock) -> AsyncIterator[ApartLog]:
    process.say("FLUSHALL")
    server = RedisServer(RedisTarget(url=process.url))
    log = RedisLog(server, clock, is_server_time=False)

    def open_group() -> RedisLog:
        return RedisLog(RedisServer(RedisTarget(url=process.url)), clock, is_server_time=False)

    async def down() -> None:
        await asyncio.to_thread(process.kill)

    async def up() -> None:
        await asyncio.to_thread(process.start)

    async def lose() -> None:
        process.say("FLUSHALL")

    yield ApartLog(log, RedisOutlet(log, server), open_group, down, up, lose)
    await log.close()


@pytest.fixture(params=["sqlite", "postgres"])
async def outbox(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> AsyncIterator[Outbox]:
    if request.param == "sqlite":
        store = open_state(tmp_path / "store.sqlite", clock)
        yield store.outbox
        await store.close()
    else:
        postgres = PostgresOutbox(fresh_server(), clock)
        yield postgres
        await postgres.close()
        await postgres.server.close()


class TestOutboxOnRedis(OutboxChecks):
    pass


async def test_AC_EN_008_a_row_whose_confirmation_fails_is_appended_once(
    apart: ApartLog, outbox: Outbox, clock: FakeClock, process: RedisProcess
) -> None:
    pump = pump_of(outbox, apart.outlet, clock)
    [outbox_id] = await outbox.add(outbox_rows("x"))
    with armed("outbox.sent:raise"), pytest.raises(Unavailable, match=r"outbox\.sent"):
        await pump.run_once()
    assert await values_of(apart.log) == [b"x"]
    assert (await outbox.standing()).pending == 1
    assert process.say("PTTL", f"gristmill:{{t}}:ob:{outbox_id}") == b":-1\r\n"
    assert await pump.run_once() == 1
    assert await values_of(apart.log) == [b"x"]
    assert (await outbox.standing()).pending == 0


async def test_AC_EN_009_a_death_between_marker_and_row_is_cleaned_up_behind(
    apart: ApartLog, outbox: Outbox, clock: FakeClock, process: RedisProcess
) -> None:
    pump = pump_of(outbox, apart.outlet, clock)
    [outbox_id] = await outbox.add(outbox_rows("x"))
    marker = f"gristmill:{{t}}:ob:{outbox_id}"
    with armed("outbox.forgotten:raise"):
        assert await pump.run_once() == 1
    assert process.say("EXISTS", marker) == b":0\r\n"
    again = pump_of(outbox, apart.outlet, clock)
    assert await again.run_once() == 0
    assert await values_of(apart.log) == [b"x"]
    assert await outbox.clean_up(apart.outlet.forget, limit=100) == 0
