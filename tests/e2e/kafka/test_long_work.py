"""Work that takes longer than a Kafka client may be silent: it is done once, and its process stays in the group."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.kafka import KafkaLog, KafkaSettings
from gristmill.domain.log import NewRecord
from tests.on_kafka.backends import fresh_prefix, require_kafka, start_broker
from tests.on_kafka.group import KafkaGroup

WORK_S = float(os.environ.get("GRISTMILL_TEST_LONG_WORK_S", "9"))
POLL_INTERVAL_MS = int(os.environ.get("GRISTMILL_TEST_POLL_INTERVAL_MS", "6000"))
SESSION_MS = 6_000
SHORT_COUNT = 20
DONE_WITHIN_S = 60.0

LONG_FLOW = """
import asyncio
import os

from gristmill import Flow, Item, Plan, task


@task(timeout_ms=2 * 3_600_000)
async def work(item: Item) -> None:
    with open(os.environ["LONG_WORK_NOTES"], "a") as notes:
        notes.write(item.text + "\\n")
    if item.text == "long":
        await asyncio.sleep(float(os.environ["LONG_WORK_S"]))


flow = Flow("long", plans=[Plan("long", tasks=[work])])
"""

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(int(240 + WORK_S))]


@pytest.fixture
def brokers(tmp_path: Path) -> Iterator[str]:
    require_kafka()
    address, broker = start_broker(tmp_path / "kafka")
    yield address
    if broker is not None:
        broker.stop()


async def test_P5_work_longer_than_the_interval_of_polls_runs_once_and_holds_nobody_up(
    brokers: str, tmp_path: Path
) -> None:
    flow_file, notes, prefix = tmp_path / "long.py", tmp_path / "notes", fresh_prefix()
    flow_file.write_text(LONG_FLOW)
    log = KafkaLog(KafkaSettings(brokers=brokers, prefix=prefix, partition_count=2), SystemClock())
    texts = ["long", *(f"short {number}" for number in range(SHORT_COUNT))]
    await log.append("long", [NewRecord(msgspec.json.encode({"id": text, "text": text}), key="same") for text in texts])
    environment = {
        "LONG_WORK_NOTES": str(notes),
        "LONG_WORK_S": str(WORK_S),
        "GRISTMILL_ENGINE__TASK_TIMEOUT_S": str(WORK_S + 60),
        "GRISTMILL_LOG__CLIENT": f"session.timeout.ms={SESSION_MS},max.poll.interval.ms={POLL_INTERVAL_MS}",
    }
    group = KafkaGroup(tmp_path, brokers, prefix, flow_file=flow_file, name="long", environment=environment)
    try:
        await group.until_left(log, 1)
        began = time.monotonic()
        await group.until_left(log, 0, within_s=WORK_S + DONE_WITHIN_S)
        worked_s = time.monotonic() - began
    finally:
        group.stop()
        await log.close()
    assert worked_s > min(WORK_S, POLL_INTERVAL_MS / 1_000) / 2, "the others did not get past the long one"
    assert sorted(notes.read_text().splitlines()) == sorted(texts)
    said = (tmp_path / "group.log").read_text()
    assert "partitions were lost" not in said
    assert (await group.counts())["runs.done"] == len(texts)
