"""The lag of a group without a member on Kafka, and moving a group that nobody claims for; with a real broker."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator

import pytest
from prometheus_client import CollectorRegistry

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.kafka import KafkaLog, KafkaSettings
from gristmill.domain.errors import Unavailable, UsageError
from gristmill.domain.log import NewRecord
from gristmill.domain.steering import SeekTo, Sought
from gristmill.engine.runner.metrics import LagMetrics
from gristmill.plans.plan import Generator
from gristmill.runtime.lag import LagWatch
from tests.on_kafka.backends import fresh_prefix, require_kafka, start_broker

pytestmark = pytest.mark.cluster

TOPIC = "item.published"
LOOK_MS = 200
WITHIN_S = 60
"""Ten seconds are promised; a machine that runs everything else too may need longer."""

Open = Callable[[], KafkaLog]


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    require_kafka()
    address, broker = start_broker(tmp_path_factory.mktemp("kafka"))
    yield address
    if broker is not None:
        broker.stop()


@pytest.fixture
async def open_log(brokers: str) -> AsyncIterator[Open]:
    settings = KafkaSettings(brokers=brokers, prefix=fresh_prefix(), partition_count=2, settle_ms=30_000, drain_ms=0)
    opened: list[KafkaLog] = []

    def open_it() -> KafkaLog:
        opened.append(KafkaLog(settings, SystemClock()))
        return opened[-1]

    yield open_it
    for log in opened:
        await log.close()


async def append(log: KafkaLog, count: int) -> None:
    await log.append(TOPIC, [NewRecord(str(number).encode(), key=str(number)) for number in range(count)])


async def look_until_answered(watch: LagWatch) -> None:
    """Look again while the brokers still look for who keeps the progress of a new group."""
    while True:
        try:
            return await watch.look()
        except Unavailable:
            await SystemClock().sleep_ms(LOOK_MS)


async def claim_values(log: KafkaLog, count: int) -> list[str]:
    """Claim and accept until so many records have come; return them."""
    found: list[str] = []
    while len(found) < count:
        claimed = await log.claim(TOPIC, "enrich", owner="me", limit=100, lease_ms=60_000)
        await log.accept([one.lease for one in claimed])
        found += [one.value.decode() for one in claimed]
    return sorted(found)


async def test_AC_EN_085_the_lag_of_a_group_without_a_member_is_told_on_kafka(open_log: Open) -> None:
    log = open_log()
    await append(log, 100)
    registry = CollectorRegistry()
    enrich = Generator(type="enrich", topic=TOPIC, plans=("enrich",))
    watch = LagWatch(log, [enrich], SystemClock(), LagMetrics(registry))
    async with asyncio.timeout(WITHIN_S):
        await look_until_answered(watch)
    labels = {"topic": TOPIC, "group": "enrich"}
    assert registry.get_sample_value("gristmill_lag_undelivered", labels) == 100
    partitions = await log.partitions(TOPIC, "enrich")
    assert [one.partition for one in partitions] == [0, 1]
    assert sum(one.undelivered for one in partitions) == 100


async def test_a_group_is_moved_while_nobody_claims_for_it(open_log: Open) -> None:
    member, outside = open_log(), open_log()
    await append(outside, 20)
    assert len(await claim_values(member, 20)) == 20
    with pytest.raises(UsageError, match=r"has members.*stop every"):
        await outside.seek(TOPIC, "enrich", SeekTo.earliest())
    await member.close()
    again = Sought(again=20, skipped=0, in_flight=0)
    assert await outside.seek(TOPIC, "enrich", SeekTo.earliest(), is_preview=True) == again
    assert (await outside.lag(TOPIC, "enrich")).undelivered == 0
    assert await outside.seek(TOPIC, "enrich", SeekTo.earliest()) == again
    assert (await outside.lag(TOPIC, "enrich")).undelivered == 20
    assert len(await claim_values(open_log(), 20)) == 20


async def test_a_group_that_never_was_begins_behind_all_there_is_or_at_a_time(open_log: Open) -> None:
    log = open_log()
    await append(log, 10)
    assert await log.seek(TOPIC, "enrich", SeekTo.now()) == Sought(again=0, skipped=10, in_flight=0)
    assert (await log.lag(TOPIC, "enrich")).undelivered == 0
    back = Sought(again=10, skipped=0, in_flight=0)
    assert await log.seek(TOPIC, "enrich", SeekTo(at_ms=SystemClock().now_ms() - 3_600_000)) == back
    assert (await log.lag(TOPIC, "enrich")).undelivered == 10
