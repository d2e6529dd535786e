"""A group whose log is on Kafka is killed, frozen and cut off while it works; all is done once all the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.kafka import KafkaLog, KafkaSettings
from gristmill.domain.log import NewRecord
from gristmill.testing.crash.cycles import run_cuts, run_cycles
from tests.on_kafka.backends import fresh_prefix, require_kafka, start_broker
from tests.on_kafka.group import KafkaGroup

HEALED_WITHIN_S = 30.0
"""Five seconds on a machine that has time for it."""

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


def test_P1_faults_on_kafka_lose_and_double_nothing(tmp_path: Path) -> None:
    require_kafka()
    outcome = run_cycles(tmp_path, log="kafka", cycles=10, records=1_000, seed=SEED)
    assert outcome.records == 1_000
    assert outcome.redelivered > 0
    assert not outcome.faults, f"after {outcome.hurts}"


def test_cut_connections_to_kafka_heal_and_probes_tell_the_truth(tmp_path: Path) -> None:
    require_kafka()
    outcome = run_cuts(tmp_path, log="kafka", cuts=3, outages=1, seed=SEED)
    assert not outcome.faults
    assert outcome.cuts == 3
    assert outcome.slowest_s < HEALED_WITHIN_S
