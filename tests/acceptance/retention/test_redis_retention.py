"""What a log on Redis lets go that somebody has not read: old records of lossy topics, and behind abandoned groups."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
import structlog

from gristmill.adapters.redis import RedisLog, RedisServer, RedisTarget
from gristmill.adapters.redis import retaining as retaining_module
from gristmill.domain.log import NewRecord
from gristmill.domain.upkeep.retention import RetentionRules
from gristmill.domain.upkeep.topics import LossyRule
from gristmill.testing.clock import FakeClock
from gristmill.testing.contracts.backend import claim, records, values
from gristmill.testing.redis_server import RedisProcess
from tests.redis_servers import program_or_skip

DAY_MS = 86_400_000
Open = Callable[..., RedisLog]


@pytest.fixture(scope="module", params=["valkey", pytest.param("redis", marks=pytest.mark.cluster)])
def process(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisProcess]:
    process = RedisProcess(tmp_path_factory.mktemp(request.param), program=program_or_skip(request.param))
    process.start()
    yield process
    process.stop()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def open_log(process: RedisProcess, clock: FakeClock) -> AsyncIterator[Open]:
    process.say("FLUSHALL")
    opened: list[RedisLog] = []

    def open_it(**rules: Any) -> RedisLog:
        server = RedisServer(RedisTarget(url=process.url))
        opened.append(RedisLog(server, clock, rules=RetentionRules(**rules), is_server_time=False))
        return opened[-1]

    yield open_it
    for log in opened:
        await log.close()


async def tidy(log: RedisLog, clock: FakeClock) -> None:
    await log.upkeep.run(["t"], now=str(clock.now_ms()), now_ms=clock.now_ms())


async def finish(log: RedisLog, group: str, *, limit: int = 10) -> None:
    await log.accept([one.lease for one in await claim(log, group=group, limit=limit)])


async def test_records_that_are_too_old_go_and_are_counted(open_log: Open, clock: FakeClock) -> None:
    log = open_log(lossy={"t": LossyRule(max_age_ms=DAY_MS)})
    await log.append("t", [NewRecord(b"old")] * 250)
    await claim(log, limit=1)
    clock.advance(DAY_MS + 1)
    await log.append("t", records("young"))
    await tidy(log, clock)
    lag = await log.lag("t", "g")
    assert (lag.undelivered, lag.lost) == (1, 249)
    assert values(await claim(log)) == ["young"], "what vanished while it was held became a dead letter"
    lag = await log.lag("t", "g")
    assert (lag.undelivered, lag.lost, lag.dead) == (0, 250, 1)


async def test_a_group_that_nobody_serves_is_let_go_after_its_time(open_log: Open, clock: FakeClock) -> None:
    log = open_log(groups={"t": ("live",)}, abandoned_ms=7 * DAY_MS)
    await log.append("t", records(*"abc"))
    await finish(log, "old", limit=1)
    await finish(log, "live")
    for days in (6, 1):
        await tidy(log, clock)
        assert await log.trimmed("t") == 1
        clock.advance(days * DAY_MS)
    with structlog.testing.capture_logs() as logs:
        await tidy(log, clock)
    assert [entry["group"] for entry in logs if "holds no records back" in entry["event"]] == ["old"]
    assert await log.trimmed("t") == 3
    lag = await log.lag("t", "old")
    assert (lag.undelivered, lag.lost) == (0, 2)
    await log.append("t", records("d"))
    assert values(await claim(log, group="old")) == ["d"]
    assert (await log.lag("t", "old")).lost == 2


async def test_groups_that_move_are_served_here_or_are_the_last_hold_their_records(
    open_log: Open, clock: FakeClock
) -> None:
    log = open_log(groups={"t": ("paused",)}, abandoned_ms=7 * DAY_MS)
    await log.append("t", records(*"abcdef"))
    await finish(log, "paused", limit=1)
    for _ in range(4):
        await finish(log, "slow", limit=1)
        await tidy(log, clock)
        clock.advance(4 * DAY_MS)
    assert [(await log.lag("t", group)).lost for group in ("paused", "slow")] == [0, 0]
    assert await log.trimmed("t") == 1
    alone = open_log(abandoned_ms=7 * DAY_MS)
    for _ in range(2):
        clock.advance(30 * DAY_MS)
        await tidy(alone, clock)
    assert await alone.trimmed("t") == 1, "both groups are abandoned, and nobody else has read what they have not"


async def test_a_topic_that_grows_large_is_told_once_an_hour(
    open_log: Open, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retaining_module, "ENTRIES_ALARM", 3)
    log = open_log()
    await log.append("t", records("a", "b"))
    with structlog.testing.capture_logs() as logs:
        await tidy(log, clock)
        await log.append("t", records("c"))
        for _ in range(2):
            await tidy(log, clock)
        clock.advance(3_600_000)
        await tidy(log, clock)
    assert [entry["records"] for entry in logs if entry["event"] == "topic grows"] == [3, 3]
