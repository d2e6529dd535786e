"""Runners in processes of their own, which are ended, frozen and counted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.local_host import new_owner
from gristmill.adapters.sqlite import SqliteStore
from gristmill.domain.commit import Committed
from gristmill.domain.ids import ItemId
from gristmill.domain.log import Delivery, NewRecord
from gristmill.ports.handling import Handling
from gristmill.ports.log import Log
from tests.runners.driving import append, driving, has_nothing_left, result_of, until
from tests.runners.places import KafkaPlaces, Places, RedisPlaces
from tests.runners.process import Order

ROOT = Path(__file__).parents[3]
ENDED_WITHIN_S = 30.0


class RunnerProcess:
    """A process, and the lines that it has written."""

    def __init__(self, order: Order, folder: Path) -> None:
        self._output = folder / f"lines-{len(list(folder.glob('lines-*')))}"
        text = msgspec.json.encode(order).decode()
        with self._output.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.runners.process", text],
                cwd=ROOT,
                stdout=output,
                stderr=subprocess.DEVNULL,
            )

    @property
    def lines(self) -> list[str]:
        return self._output.read_text().splitlines()

    def send(self, number: signal.Signals) -> None:
        os.kill(self.process.pid, number)


@contextmanager
def running(places: Places, does: str, **changes: object) -> Iterator[RunnerProcess]:
    """A process over these places; killed at the end of the block unless it has ended."""
    order = Order(str(places.folder / "state.db"), does, msgspec.structs.replace(places.settings, **changes))
    if isinstance(places, RedisPlaces):
        order.redis_url = places.process.url
    elif isinstance(places, KafkaPlaces):
        order.kafka = places.kafka
    else:
        order.path = str(places.folder / "store.db")
    process = RunnerProcess(order, places.folder)
    try:
        yield process
    finally:
        process.process.kill()
        process.process.wait()


async def test_AC_EN_037_a_process_that_is_ended_hands_back_what_it_cannot_finish(places: Places, log: Log) -> None:
    await append(log, *(str(number) for number in range(20)))
    with running(places, "slow", workers=4, drain_ms=500) as process:
        await until(lambda: sum(int(line.split()[1]) % 2 for line in process.lines) == 4)
        began_s = time.monotonic()
        process.send(signal.SIGTERM)
        assert process.process.wait(ENDED_WITHIN_S) == 0
        assert time.monotonic() - began_s < ENDED_WITHIN_S
        quick = {line.split()[1] for line in process.lines if not int(line.split()[1]) % 2}
    left: list[Delivery] = []

    async def claim() -> bool:
        left.extend(await log.claim("t", "g", owner="me", limit=20, lease_ms=60_000))
        return len(left) == 20 - len(quick)

    await until(claim)
    assert {one.value.decode() for one in left} == {str(number) for number in range(20)} - quick
    assert {one.attempt for one in left} == {1}
    assert await log.dead_letters() == []


@pytest.mark.parametrize("places", [pytest.param("kafka", marks=pytest.mark.cluster)], indirect=True)
async def test_AC_EN_028_the_late_write_of_a_frozen_process_is_refused(places: KafkaPlaces) -> None:
    log, state = await places.log(), await places.state()
    answers: list[object] = []

    async def store(handling: Handling) -> None:
        lease = handling.delivery.lease
        await state.fence([lease], until_ms=handling.delivery.appended_at_ms + 3_600_000)
        answers.extend(await state.commit([result_of(lease, "prompt")]))

    await append(log, "1")
    with running(places, "store") as frozen:
        await until(lambda: frozen.lines == ["begun 1 1", "waits"])
        frozen.send(signal.SIGSTOP)
        async with driving(log, store, places.settings):
            await until(lambda: len(answers) == 1)
            await until(has_nothing_left(log))
            frozen.send(signal.SIGCONT)
            await until(lambda: frozen.lines[2:] == ["stored Fenced"])
    assert answers == [Committed()]
    [run] = await state.runs(ItemId(7))
    assert (run.status, run.reason) == ("done", "prompt")


@pytest.mark.crash
@pytest.mark.parametrize("places", ["sqlite", "redis"], indirect=True)
async def test_P8_a_record_that_kills_its_process_is_given_up_after_three_deaths(places: Places, log: Log) -> None:
    await append(log, "poison", "good")
    settings = {"workers": 1, "lease_ms": 600, "reclaim_interval_ms": 100}
    for attempt in (1, 2, 3):
        with running(places, "die", **settings) as process:
            assert process.process.wait(ENDED_WITHIN_S) == -signal.SIGKILL
            assert f"begun poison {attempt}" in process.lines
    with running(places, "die", **settings) as process:
        await until(has_nothing_left(log))
        assert process.process.poll() is None
        assert "begun poison 4" not in process.lines
    [letter] = await log.dead_letters()
    assert (letter.value, letter.diagnosis.error_class) == (b"poison", "crashed")


@pytest.mark.parametrize("places", ["sqlite"], indirect=True)
async def test_AC_EN_031_two_processes_lose_and_double_nothing_at_full_speed(places: Places) -> None:
    count, rate_min = 4_000, 300  # The figure is a bench case; this is a bound for a busy machine.
    store = SqliteStore.open(places.folder / "store.db", clock=SystemClock(), owner=new_owner())
    settings = {"workers": 64, "batch": 64, "lease_ms": 30_000}
    with running(places, "quick", **settings) as first, running(places, "quick", **settings) as second:
        await append(store.log, "first")
        await until(lambda: len(first.lines) + len(second.lines) == 1)
        began_s = time.monotonic()
        await store.log.append("t", [NewRecord(b"%d" % number) for number in range(count)])
        await until(has_nothing_left(store.log))
        assert count / (time.monotonic() - began_s) > rate_min
        lines = [*first.lines, *second.lines]
    assert sorted(lines) == sorted(["begun first 1", *(f"begun {number} 1" for number in range(count))])
    assert await store.log.dead_letters() == []
    await store.close()
