"""Whoever publishes and sends is killed between commit, send, confirmation and clean-up: nothing is lost or doubled."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from gristmill.adapters.clock import SystemClock
from gristmill.testing.faults import fault_environment
from gristmill.testing.redis_server import RedisProcess
from tests.apart.outboxes import open_state
from tests.e2e.outbox.publisher import open_log
from tests.on_kafka.backends import fresh_prefix, require_kafka, start_broker
from tests.redis_servers import program_or_skip

COUNT = 40
KILLED = -9

DEATHS = [
    f"{point}:kill:after={passages}"
    for point, passages in (
        ("commit.written", 3),
        ("append.after", 7),
        ("outbox.sent", 0),
        ("outbox.sent", 2),
        ("outbox.confirmed", 0),
        ("outbox.forgotten", 0),
        ("outbox.forgotten", 1),
    )
]

pytestmark = [pytest.mark.crash, pytest.mark.timeout(240)]


def publish_under_faults(folder: Path, *place: str, deaths: Sequence[str] = DEATHS) -> set[int]:
    """Publish numbers by one process after the other, all but the last are killed; return the answered ones."""
    answered: set[int] = set()
    for death in deaths:
        assert _run(folder, place, answered, fault_environment(death, environment=os.environ)) == KILLED, death
    assert _run(folder, place, answered, os.environ) == 0
    return answered


def _run(folder: Path, place: tuple[str, ...], answered: set[int], environment: Mapping[str, str]) -> int:
    """Go on with the first number that was not answered: perhaps it was published all the same."""
    argv = [sys.executable, "-m", "tests.e2e.outbox.publisher", str(folder), str(len(answered)), str(COUNT), *place]
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=100, check=False)
    answered.update(int(line) for line in done.stdout.splitlines() if line.isdecimal())
    assert answered == set(range(len(answered)))
    assert done.returncode in (0, KILLED), done.stderr[-2_000:]
    return done.returncode


async def delivered(folder: Path, *place: str) -> Counter[str]:
    """Return how often each value is delivered to a group that begins now."""
    backend, address, prefix = place
    store = open_state(folder / "store.sqlite", SystemClock(), owner="reader")
    log, _ = open_log(store, backend, address, prefix)
    values: Counter[str] = Counter()
    while found := await log.claim("t", "g", owner="me", limit=100, lease_ms=60_000):
        values.update(one.value.decode() for one in found)
        await log.accept([one.lease for one in found])
    assert (await store.outbox.standing()).pending == 0
    await log.close()
    await store.close()
    return values


async def test_P1_deaths_between_publishing_and_redis_lose_and_double_nothing(tmp_path: Path) -> None:
    process = RedisProcess(tmp_path / "redis", program=program_or_skip("valkey"))
    process.start()
    try:
        place = ("redis", process.url, "gristmill:")
        answered = publish_under_faults(tmp_path, *place)
        assert await delivered(tmp_path, *place) == Counter(f"n{number}" for number in answered)
        assert process.say("KEYS", "gristmill:{t}:ob:*") == b"*0\r\n"
    finally:
        process.stop()


@pytest.mark.cluster
async def test_P1_deaths_between_publishing_and_kafka_lose_nothing_and_deliver_nothing_twice(tmp_path: Path) -> None:
    require_kafka()
    address, broker = start_broker(tmp_path / "kafka")
    try:
        place = ("kafka", address, fresh_prefix())
        deaths = [death for death in DEATHS if "commit" not in death and "forgotten" not in death]
        answered = publish_under_faults(tmp_path, *place, deaths=deaths)
        assert await delivered(tmp_path, *place) == Counter(f"n{number}" for number in answered)
    finally:
        if broker is not None:
            broker.stop()
