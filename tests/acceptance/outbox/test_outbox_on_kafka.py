"""Acceptance checks of the outbox with a log on Kafka; they need a broker."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator

import pytest

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.kafka import KafkaLog, KafkaOutlet, KafkaSettings
from gristmill.adapters.kafka.admin import TopicAdmin
from gristmill.adapters.postgres import PostgresRuns
from gristmill.adapters.sqlite import SqliteStore
from gristmill.domain.log import NewRecord
from gristmill.ports.fencing import RunName, Started
from gristmill.testing.clock import FakeClock
from gristmill.testing.kafka_broker import KafkaBroker
from tests.acceptance.outbox.checks import ApartLog, OutboxChecks, claim
from tests.on_kafka.backends import fresh_prefix, require_kafka
from tests.on_postgres.servers import fresh_server

WITHIN_S = 90.0
SESSION_MS = 6_000
"""The shortest that brokers allow."""

WORKER = """
import asyncio
import sys

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.kafka import KafkaLog, KafkaSettings
from gristmill.adapters.postgres import PostgresRuns, PostgresServer, PostgresTarget
from gristmill.domain.errors import StaleRead
from gristmill.ports.fencing import RunName


async def work() -> None:
    brokers, prefix, url, schema = sys.argv[1:]
    settings = KafkaSettings(brokers=brokers, prefix=prefix, partition_count=1, session_timeout_ms=6_000, drain_ms=0)
    log = KafkaLog(settings, SystemClock())
    server = PostgresServer(PostgresTarget(url, schema=schema))
    runs, run = PostgresRuns(server), RunName("enrich", "42")
    while not (found := await log.claim("t", "g", owner="frozen", limit=1, lease_ms=60_000)):
        await log.wait(["t"], timeout_ms=100)
    started = await runs.start(run, owner="frozen", lease_ms=1_000)
    print("started", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    try:
        await runs.store(run, epoch=started.epoch, status="done", result=b"late")
        print("stored", flush=True)
    except StaleRead:
        print("refused", flush=True)
    await log.close()
    await server.close()


asyncio.run(work())
"""

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """One of our own, since it is taken away."""
    require_kafka()
    broker = KafkaBroker(tmp_path_factory.mktemp("kafka"))
    broker.start()
    yield broker
    broker.stop()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


class TestOutboxOnKafka(OutboxChecks):
    @pytest.fixture
    async def apart(self, broker: KafkaBroker, state: SqliteStore, clock: FakeClock) -> AsyncIterator[ApartLog]:
        settings = KafkaSettings(
            brokers=broker.address,
            prefix=fresh_prefix(),
            partition_count=1,
            retention_ms=-1,  # The clock of the tests stands in the past.
            settle_ms=30_000,
            drain_ms=0,
            timeout_ms=3_000,
        )
        log = KafkaLog(settings, clock, origins=state.origins)

        def open_group() -> KafkaLog:
            return KafkaLog(settings, clock, origins=state.origins)

        async def down() -> None:
            await asyncio.to_thread(broker.stop)

        async def up() -> None:
            await asyncio.to_thread(broker.start)

        async def lose() -> None:
            admin = TopicAdmin(settings)
            topic = f"{settings.prefix}t"
            await admin.delete_before(topic, dict(enumerate(await admin.ends(topic))))

        yield ApartLog(log, KafkaOutlet(log), open_group, down, up, lose)
        await log.close()


async def test_AC_EN_028_a_worker_that_was_frozen_past_its_eviction_writes_nothing(broker: KafkaBroker) -> None:
    settings = KafkaSettings(
        brokers=broker.address, prefix=fresh_prefix(), partition_count=1, session_timeout_ms=SESSION_MS, drain_ms=0
    )
    log, server = KafkaLog(settings, SystemClock()), fresh_server()
    runs, run, target = PostgresRuns(server), RunName("enrich", "42"), server.target
    await log.append("t", [NewRecord(b"x")])
    argv = [sys.executable, "-c", WORKER, broker.address, settings.prefix, target.url, target.schema]
    pipe = asyncio.subprocess.PIPE
    worker = await asyncio.create_subprocess_exec(*argv, stdin=pipe, stdout=pipe)
    assert worker.stdout is not None
    try:
        async with asyncio.timeout(WITHIN_S):
            assert await worker.stdout.readline() == b"started\n"
            os.kill(worker.pid, signal.SIGSTOP)
            [delivery] = await claim(log)
            assert delivery.attempt == 2
            taken = await runs.start(run, owner="other", lease_ms=60_000)
            assert isinstance(taken, Started)
            await runs.store(run, epoch=taken.epoch, status="done", result=b"first")
            assert await log.accept([delivery.lease]) == [True]
            os.kill(worker.pid, signal.SIGCONT)
            said, _ = await worker.communicate(b"go on\n")
        assert {b"refused", b"stored"}.intersection(said.splitlines()) == {b"refused"}
    finally:
        if worker.returncode is None:
            worker.kill()
            await worker.wait()
    assert await runs.result(run) == ("done", b"first")
    assert await log.claim("t", "g", owner="me", limit=1, lease_ms=60_000) == []
    await log.close()
    await server.close()
