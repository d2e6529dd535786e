"""A group whose log is on Kafka loses a process while it works; every record is done once all the same."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec
import pytest

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.kafka import KafkaLog, KafkaSettings
from gristmill.adapters.sqlite import SqliteStore
from gristmill.domain.log import NewRecord
from gristmill.testing.crash import numbered
from gristmill.testing.crash.processes import choose_pids, descendants, kill_hard
from tests.contract.kafka import fresh_prefix, require_kafka, start_broker

RECORDS = 2_000
KILL_AFTER = 300
DONE_WITHIN_S = 120.0
LOOK_AGAIN_S = 0.2
TOPIC = "numbered"
GROUP = "numbered.numbered"

pytestmark = [pytest.mark.cluster, pytest.mark.crash, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    require_kafka()
    address, broker = start_broker(tmp_path_factory.mktemp("kafka"))
    yield address
    if broker is not None:
        broker.stop()


@pytest.mark.parametrize("victim", ["engine", "dispatcher"])
async def test_P1_a_killed_process_loses_and_doubles_nothing(
    victim: Literal["engine", "dispatcher"], brokers: str, tmp_path: Path
) -> None:
    prefix = fresh_prefix()
    log = KafkaLog(KafkaSettings(brokers=brokers, prefix=prefix, partition_count=2), SystemClock())
    values = [msgspec.json.encode({"id": f"n{number}", "text": f"number {number}"}) for number in range(RECORDS)]
    await log.append(TOPIC, [NewRecord(value, key=f"k{number % 50}") for number, value in enumerate(values)])
    group = _start(tmp_path, brokers, prefix)
    try:
        await _until_left(log, RECORDS - KILL_AFTER, group)
        kill_hard(choose_pids(group.pid, victim))
        await _until_left(log, 0, group)
    finally:
        _stop(group)
        await log.close()
    counts = await _counts(tmp_path)
    assert {name: counts.get(name, 0) for name in ("items", "runs", "runs.done")} == {
        "items": RECORDS,
        "runs": RECORDS,
        "runs.done": RECORDS,
    }


def _start(folder: Path, brokers: str, prefix: str) -> subprocess.Popen[bytes]:
    argv = [sys.executable, "-m", "gristmill", "up", "--topic", TOPIC, "--plan", "numbered", "--engines", "2"]
    argv += ["--flow", str(Path(numbered.__file__)), "--state", str(folder / "state")]
    environment = {
        **os.environ,
        "GRISTMILL_LOG__BACKEND": "kafka",
        "GRISTMILL_LOG__BROKERS": brokers,
        "GRISTMILL_LOG__TOPIC_PREFIX": prefix,
        "GRISTMILL_LOG__PARTITIONS": "2",
        "GRISTMILL_LOG__CLIENT": "session.timeout.ms=6000",
        "GRISTMILL_API__ENABLED": "false",
        "GRISTMILL_GRPC__ENABLED": "off",
        "GRISTMILL_FLOWS__ENABLED": "numbered",
        "GRISTMILL_DISPATCHER__LEASE_MS": "3000",
        "GRISTMILL_DISPATCHER__MAX_IN_FLIGHT": "64",
        "GRISTMILL_DISPATCHER__MONITOR_INTERVAL_S": "1",
    }
    with (folder / "group.log").open("ab") as said:
        return subprocess.Popen(argv, env=environment, stdin=subprocess.DEVNULL, stdout=said, stderr=said)


def _stop(group: subprocess.Popen[bytes]) -> None:
    family = [group.pid, *descendants(group.pid)]
    group.send_signal(signal.SIGTERM)
    try:
        group.wait(40.0)
    except subprocess.TimeoutExpired:
        kill_hard(family)
        group.wait()
        raise


async def _until_left(log: KafkaLog, left: int, group: subprocess.Popen[bytes]) -> None:
    """Wait until so many records, or fewer, are not accepted."""
    deadline = time.monotonic() + DONE_WITHIN_S
    while time.monotonic() < deadline:
        lag = await log.lag(TOPIC, GROUP)
        if lag.undelivered + lag.in_flight + lag.waiting <= left:
            return
        assert group.poll() is None, "the group has ended"
        await asyncio.sleep(LOOK_AGAIN_S)
    pytest.fail(f"more than {left} records are left after {DONE_WITHIN_S:.0f} s: {lag}")


async def _counts(folder: Path) -> dict[str, int]:
    path = folder / "state" / "gristmill.sqlite"
    store = SqliteStore.open(path, clock=SystemClock(), owner="audit:0:0", is_log_apart=True)
    try:
        return dict(await store.state.counts())
    finally:
        await store.close()
