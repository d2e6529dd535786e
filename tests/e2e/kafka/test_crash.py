"""A group whose log is on Kafka loses a process while it works; every record is done once all the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec
import pytest

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.kafka import KafkaLog, KafkaSettings
from gristmill.domain.log import NewRecord
from gristmill.testing.crash import numbered
from gristmill.testing.crash.cycles import run_cycles
from gristmill.testing.crash.processes import choose_pids, kill_hard
from tests.on_kafka.backends import fresh_prefix, require_kafka, start_broker
from tests.on_kafka.group import KafkaGroup

RECORDS = 2_000
KILL_AFTER = 300
SEED = 20_261_101
"""Draws deaths of every process, cuts and a stall."""

FLAKY_FLOW = """
from gristmill import Flow, Item, Plan, task

SEEN = set()


@task
def try_it(item: Item) -> None:
    if item.text == "never" or (item.text.startswith("once") and item.text not in SEEN):
        SEEN.add(item.text)
        raise RuntimeError("not this time")


flow = Flow("flaky", plans=[Plan("flaky", tasks=[try_it])])
"""

pytestmark = [pytest.mark.cluster, pytest.mark.crash, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    require_kafka()
    address, broker = start_broker(tmp_path_factory.mktemp("kafka"))
    yield address
    if broker is not None:
        broker.stop()


async def test_failed_records_come_again_or_are_given_up_in_the_end(brokers: str, tmp_path: Path) -> None:
    flow_file = tmp_path / "flaky.py"
    flow_file.write_text(FLAKY_FLOW)
    prefix = fresh_prefix()
    log = KafkaLog(KafkaSettings(brokers=brokers, prefix=prefix, partition_count=2), SystemClock())
    texts = ["never", *(f"once {number}" for number in range(20)), *(f"fine {number}" for number in range(20))]
    await log.append("flaky", [NewRecord(msgspec.json.encode({"id": text, "text": text})) for text in texts])
    group = KafkaGroup(tmp_path, brokers, prefix, flow_file=flow_file, name="flaky", engines=1)
    try:
        while not (letters := await log.dead_letters(group=group.group)):
            await log.wait(["flaky"], timeout_ms=200)
        await group.until_left(log, 0)
    finally:
        group.stop()
        await log.close()
    assert len(letters) == 1
    assert b"never" in letters[0].value
    assert len(letters[0].diagnosis.history) == 2
    counts = await group.counts()
    assert (counts["items"], counts["runs.done"]) == (41, 40)


@pytest.mark.parametrize("victim", ["engine", "dispatcher", "group"])
async def test_P1_a_killed_process_loses_and_doubles_nothing(
    victim: Literal["engine", "dispatcher", "group"], brokers: str, tmp_path: Path
) -> None:
    prefix = fresh_prefix()
    log = KafkaLog(KafkaSettings(brokers=brokers, prefix=prefix, partition_count=2), SystemClock())
    values = [msgspec.json.encode({"id": f"n{number}", "text": f"number {number}"}) for number in range(RECORDS)]
    await log.append("numbered", [NewRecord(value, key=f"k{number % 50}") for number, value in enumerate(values)])
    group = KafkaGroup(tmp_path, brokers, prefix, flow_file=Path(numbered.__file__), name="numbered")
    try:
        await group.until_left(log, RECORDS - KILL_AFTER)
        kill_hard(choose_pids(group.process.pid, victim))
        if victim == "group":
            group.restart()
        await group.until_left(log, 0)
    finally:
        group.stop()
        await log.close()
    counts = await group.counts()
    assert {name: counts.get(name, 0) for name in ("items", "runs", "runs.done")} == {
        "items": RECORDS,
        "runs": RECORDS,
        "runs.done": RECORDS,
    }


def test_P1_faults_on_kafka_lose_and_double_nothing(tmp_path: Path) -> None:
    require_kafka()
    outcome = run_cycles(tmp_path, log="kafka", cycles=10, records=1_000, seed=SEED)
    assert outcome.records == 1_000
    assert outcome.redelivered > 0
    assert not outcome.faults, f"after {outcome.hurts}"
