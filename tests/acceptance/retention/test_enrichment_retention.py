"""What topics keep and lose, members that are gone, and the lag of a group that has none."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.redis import RedisLog, RedisServer, RedisTarget
from gristmill.adapters.sqlite import SqliteStore
from gristmill.domain.log import NewRecord
from gristmill.domain.upkeep.retention import RetentionRules
from gristmill.domain.upkeep.topics import LossyRule
from gristmill.engine.runner.metrics import LagMetrics
from gristmill.plans.plan import Generator
from gristmill.ports.log import Log
from gristmill.runtime.lag import LagWatch
from gristmill.testing.redis_server import RedisProcess
from tests.redis_servers import program_or_skip

NODE_MAX = 1_000
"""Entries by which an approximate cap may be exceeded: a server cuts whole nodes."""

LOSSY = RetentionRules(lossy={"feed.served": LossyRule(max_entries=200)})
Open = Callable[..., RedisLog]


@pytest.fixture(scope="module", params=["valkey", pytest.param("redis", marks=pytest.mark.cluster)])
def process(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisProcess]:
    process = RedisProcess(tmp_path_factory.mktemp(request.param), program=program_or_skip(request.param))
    process.start()
    yield process
    process.stop()


@pytest.fixture
async def open_redis(process: RedisProcess) -> AsyncIterator[Open]:
    process.say("FLUSHALL")
    opened: list[RedisLog] = []

    def open_it(**options: Any) -> RedisLog:
        log = RedisLog(RedisServer(RedisTarget(url=process.url)), SystemClock(), **options)
        opened.append(log)
        return log

    yield open_it
    for log in opened:
        await log.close()


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = SqliteStore.open(tmp_path / "store.sqlite", clock=SystemClock(), owner="me", synchronous="NORMAL")
    yield opened
    await opened.close()


async def append(log: Log, topic: str, count: int) -> None:
    for start in range(0, count, 100):
        await log.append(topic, [NewRecord(b"x" * 50)] * min(100, count - start))


async def count_kept(log: Log, topic: str) -> int:
    return sum([len(batch) async for batch in log.read_all(topic)])


async def finish(log: Log, topic: str, *, limit: int, but: frozenset[int] = frozenset()) -> list[int]:
    """Claim records and accept all but those of these numbers; return the offsets."""
    claimed = await log.claim(topic, "g", owner="me", limit=limit, lease_ms=60_000)
    offsets = [one.lease.offset for one in claimed]
    await log.accept([one.lease for number, one in enumerate(claimed) if number not in but])
    return offsets


async def tidy(log: RedisLog, *topics: str) -> None:
    await log.upkeep.run(topics, now="", now_ms=0)


async def test_AC_EN_014_a_lossy_topic_is_capped_and_no_other_is(open_redis: Open) -> None:
    log = open_redis(rules=LOSSY)
    for topic, count in (("feed.served", 3_000), ("item.published", 500), ("unbounded", 300)):
        await append(log, topic, count)
    assert 200 <= await count_kept(log, "feed.served") <= 200 + NODE_MAX
    await tidy(log, "feed.served", "item.published", "unbounded")
    assert 200 <= await count_kept(log, "feed.served") <= 200 + NODE_MAX
    assert await count_kept(log, "item.published") == 500
    assert await count_kept(log, "unbounded") == 300


async def test_AC_EN_015_trimming_keeps_a_gap_and_loss_is_counted_exactly_on_redis(open_redis: Open) -> None:
    log = open_redis(rules=LOSSY)
    await append(log, "item.published", 10)
    offsets = await finish(log, "item.published", limit=5, but=frozenset({4}))
    await tidy(log, "item.published")
    kept = [record.offset async for batch in log.read_all("item.published") for record in batch]
    assert (kept[0], len(kept)) == (offsets[4], 6)

    await append(log, "feed.served", 10)
    await finish(log, "feed.served", limit=10)
    await append(log, "feed.served", 3_000)
    kept_count = await count_kept(log, "feed.served")
    lag = await log.lag("feed.served", "g")
    assert (lag.lost, lag.undelivered) == (3_000 - kept_count, kept_count), "told before the group has come there"
    assert len(await finish(log, "feed.served", limit=5_000)) == kept_count
    lag = await log.lag("feed.served", "g")
    assert (lag.lost, lag.undelivered) == (3_000 - kept_count, 0)


async def test_AC_EN_015_trimming_keeps_a_gap_and_loss_is_counted_exactly_on_sqlite(store: SqliteStore) -> None:
    log = store.log
    await append(log, "item.published", 10)
    offsets = await finish(log, "item.published", limit=5, but=frozenset({4}))
    await append(log, "feed.served", 300)
    await finish(log, "feed.served", limit=10)
    deleted = await store.upkeep.sweep(LOSSY, now_ms=SystemClock().now_ms())
    kept = [record.offset async for batch in log.read_all("item.published") for record in batch]
    assert (kept[0], len(kept)) == (offsets[4], 6)
    assert deleted["log"] == 4 + 100
    lag = await log.lag("feed.served", "g")
    assert (lag.lost, lag.undelivered) == (90, 200)


async def test_AC_EN_030_members_that_are_gone_are_forgotten_and_one_with_pending_is_kept(
    process: RedisProcess, open_redis: Open
) -> None:
    log = open_redis()
    await append(log, "item.published", 21)
    await log.claim("item.published", "g", owner="holder", limit=1, lease_ms=60_000)
    for restart in range(20):
        [record] = await log.claim("item.published", "g", owner=f"host:1:{restart}", limit=1, lease_ms=60_000)
        await log.accept([record.lease])
    stream = "gristmill:{item.published}"
    assert process.say("XINFO", "CONSUMERS", stream, "g").count(b"host:1:") == 20
    await log.upkeep.reap("item.published")
    assert process.say("XINFO", "CONSUMERS", stream, "g").count(b"host:1:") == 20, "not before an hour"
    assert await log.upkeep.reap("item.published", idle_ms_max=0) == 20
    left = process.say("XINFO", "CONSUMERS", stream, "g")
    assert (left.count(b"host:1:"), left.count(b"holder")) == (0, 1)
    await log.claim("item.published", "g", owner="alive", limit=1, lease_ms=60_000)
    assert (await log.lag("item.published", "g")).in_flight == 1


async def check_lag_is_told(log: Log) -> None:
    """100 unread records and no member: the metric says so at the first look, and one is made every ten seconds."""
    topic = "item.published"
    await append(log, topic, 100)
    registry = CollectorRegistry()
    enrich = Generator(type="enrich", topic=topic, plans=("enrich",))
    await LagWatch(log, [enrich], SystemClock(), LagMetrics(registry)).look()
    labels = {"topic": topic, "group": "enrich"}
    assert registry.get_sample_value("gristmill_lag_undelivered", labels) == 100
    assert registry.get_sample_value("gristmill_lag_in_flight", labels) == 0
    assert registry.get_sample_value("gristmill_lag_poll_up", labels) == 1


async def test_AC_EN_085_the_lag_of_a_group_without_a_member_is_told_on_sqlite(store: SqliteStore) -> None:
    await check_lag_is_told(store.log)


async def test_AC_EN_085_the_lag_of_a_group_without_a_member_is_told_on_redis(open_redis: Open) -> None:
    await check_lag_is_told(open_redis())
