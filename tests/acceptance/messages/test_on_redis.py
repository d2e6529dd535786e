"""Routed records on Redis Streams; what is remembered of them is in a store beside it, as in an installation."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.memory import MemoryStore
from gristmill.adapters.redis import RedisLog, RedisServer, RedisTarget
from gristmill.ports.cache import Cache
from gristmill.ports.log import Log
from gristmill.testing.redis_server import RedisProcess
from tests.messages.consumers import Ground
from tests.messages.stories import (
    a_flood_of_bulk,
    a_receiver_that_is_down,
    one_signal_for_five_plans,
    ordered_through_kills,
)
from tests.redis_servers import program_or_skip


@pytest.fixture
async def redis(tmp_path: Path) -> AsyncIterator[Ground]:
    process = RedisProcess(tmp_path, program=program_or_skip("valkey"), is_durable=False)
    process.start()
    store, logs = MemoryStore(SystemClock()), list[RedisLog]()

    async def open_log() -> tuple[Log, Cache]:
        logs.append(RedisLog(RedisServer(RedisTarget(url=process.url, is_ephemeral=True)), SystemClock()))
        return logs[-1], store.cache

    async def close(log: Log) -> None:
        await next(one for one in logs if one is log).close()

    yield Ground(open_log, close)
    for log in logs:
        await log.close()
    process.stop()


async def test_AC_MS_001_keys_keep_their_order_through_kills_on_redis(redis: Ground) -> None:
    await ordered_through_kills(redis, keys=200, per_key=50, kills=2, within_s=100)


async def test_AC_MS_002_a_further_try_calls_only_the_plans_that_failed_on_redis(redis: Ground) -> None:
    await one_signal_for_five_plans(redis, order="none")


async def test_AC_MS_003_a_flood_of_bulk_does_not_delay_what_is_urgent_on_redis(redis: Ground) -> None:
    await a_flood_of_bulk(redis, count=50_000, for_s=1.5)


async def test_AC_MS_004_a_receiver_that_is_back_is_noticed_soon_on_redis(redis: Ground) -> None:
    """In real time, with waits of milliseconds; the whole hour is played in memory."""
    await a_receiver_that_is_down(redis, count=50)
