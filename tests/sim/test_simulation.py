"""Groups under faults, in virtual time: nothing is lost, nothing counts twice, and a seed tells one story."""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
from collections.abc import Iterator

import pytest

from gristmill.testing.simulate import explain, quiet_logs, run_seed
from gristmill.testing.simulate.machine.loop import Process, SimulationLoop, Stuck

SEEDS = 300
SEEDS_TWICE = 60

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with quiet_logs():
        yield


@pytest.mark.parametrize("first", range(1, SEEDS + 1, 50))
def test_whatever_a_seed_does_to_a_group_the_promises_hold(first: int) -> None:
    for seed in range(first, first + 50):
        report = run_seed(seed)
        assert not report.faults, explain(report)


def test_every_seed_gives_the_same_trace_twice() -> None:
    for seed in range(1, SEEDS_TWICE + 1):
        assert run_seed(seed).trace_hash == run_seed(seed).trace_hash, f"seed {seed}"


def test_another_process_sees_the_same_story_and_says_how_it_went() -> None:
    command = [sys.executable, "-m", "gristmill.testing.simulate", "--seeds", "4-5", "--verbose"]
    stories = [
        subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": hash_seed}, capture_output=True, text=True)
        for hash_seed in ("1", "2")
    ]
    assert [story.returncode for story in stories] == [0, 0]
    lines = [story.stdout.splitlines() for story in stories]
    assert lines[0][:-1] == lines[1][:-1]
    assert lines[0][-1].startswith("2 seeds, 0 failed")


def test_time_jumps_and_the_order_of_what_is_ready_is_drawn() -> None:
    async def arrive(name: str, at_us: int, names: list[str]) -> None:
        await loop.pause_us(at_us)
        names.append(name)

    async def both() -> list[str]:
        names: list[str] = []
        await asyncio.gather(*(arrive(name, 3_600_000_000, names) for name in "abcdef"))
        return names

    orders = []
    for seed in range(5):
        loop = SimulationLoop(random.Random(seed))
        orders.append("".join(loop.run_until_complete(both())))
        assert loop.time() == pytest.approx(3_600, abs=1)
        loop.dispose()
    assert len(set(orders)) > 1
    assert {"".join(sorted(order)) for order in orders} == {"abcdef"}


def test_a_dead_process_takes_no_further_step_and_a_frozen_one_goes_on_later() -> None:
    loop = SimulationLoop(random.Random(1))
    dead, frozen = Process("dead"), Process("frozen")
    steps: list[tuple[str, float]] = []

    async def count(process: Process) -> None:
        while True:
            await loop.pause_us(100_000)
            steps.append((process.name, loop.time()))

    async def play() -> None:
        for process in (dead, frozen):
            loop.start(process, count(process))
        await loop.pause_us(350_000)
        dead.is_dead = frozen.is_frozen = True
        await loop.pause_us(1_000_000)
        assert all(at_s < 0.36 for _, at_s in steps)
        loop.thaw(frozen)
        await loop.pause_us(150_000)

    loop.run_until_complete(play())
    assert max(at_s for name, at_s in steps if name == "dead") < 0.36
    assert max(at_s for name, at_s in steps if name == "frozen") > 1.35
    loop.dispose()


def test_who_waits_for_nothing_or_turns_for_ever_is_stuck() -> None:
    async def wait() -> None:
        await asyncio.get_running_loop().create_future()

    async def turn() -> None:
        loop = asyncio.get_running_loop()
        while True:
            done = loop.create_future()
            loop.call_soon(done.set_result, None)
            await done

    for play in (wait, turn):
        loop = SimulationLoop(random.Random(1), steps_max=1_000)
        with pytest.raises(Stuck):
            loop.run_until_complete(play())
        loop.dispose()
