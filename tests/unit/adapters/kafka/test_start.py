"""A log looks at its brokers before it starts: three of them, played by librdkafka inside this process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import Producer
from structlog.testing import capture_logs

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.kafka import KafkaLog, KafkaSettings
from gristmill.domain.errors import ConfigError

TIMEOUT_MS = 5_000


@pytest.fixture(scope="module")
def brokers() -> Iterator[str]:
    cluster = Producer({"bootstrap.servers": "unused", "test.mock.num.brokers": "3", "log_level": 0})
    yield ",".join(f"{one.host}:{one.port}" for one in cluster.list_topics(timeout=10).brokers.values())
    del cluster


def log_on(brokers: str, *, copies: int, foreign: frozenset[str] = frozenset()) -> KafkaLog:
    settings = KafkaSettings(
        brokers=brokers, prefix="start.", replication_factor=copies, timeout_ms=TIMEOUT_MS, foreign=foreign
    )
    return KafkaLog(settings, SystemClock())


async def test_P1_three_brokers_without_three_copies_keep_a_log_from_starting(brokers: str) -> None:
    log = log_on(brokers, copies=1)
    with pytest.raises(ConfigError, match=r"kafka replicas: '1 on 3 brokers' \(set log\.replicas = 3"):
        await log.start()
    await log.close()


async def test_three_copies_are_taken_and_what_brokers_do_not_tell_is_warned_about(brokers: str) -> None:
    log = log_on(brokers, copies=3, foreign=frozenset({"raw.news"}))
    with capture_logs() as logs:
        await log.start()
    await log.close()
    told = {entry["event"]: entry["found"] for entry in logs if entry["log_level"] == "warning"}
    assert told == {"kafka message.max.bytes": "unknown", "kafka topic raw.news": "not there"}
