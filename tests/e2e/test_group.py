"""The group of `gristmill up` when things do not go as planned."""

import signal
from functools import partial
from pathlib import Path

import pytest

from tests.commands import SLOW_FLOW, is_gone, open_records, put, run, serves, started, wait_until, write

HANGS_IN_AN_ENGINE = 'import sys, threading\nif "engine" in sys.argv:\n    threading.Event().wait(600)\n'
SPINNING_FLOW = '''
"""A text `spin` is worked on for ever, and nothing else happens in that process."""
from gristmill import Flow, Generator, Item, Plan, task


@task(attempts=1)
def think(item: Item) -> None:
    while item.text == "spin":
        pass


flow = Flow(
    "thinker",
    plans=[Plan("think", tasks=[think])],
    generators=[Generator(type="think", topic="think", plans=("think",))],
)
'''


@pytest.fixture
def slow(tmp_path: Path) -> Path:
    return write(tmp_path / "slow_flow.py", SLOW_FLOW)


def test_a_start_that_takes_too_long_is_given_up(tmp_path: Path) -> None:
    flow = write(tmp_path / "hangs.py", HANGS_IN_AN_ENGINE + SLOW_FLOW)
    env = {"GRISTMILL_MAIN__START_TIMEOUT_S": "1.5"}
    with started("up", "--flow", flow, "--state", tmp_path / "state", env=env) as process:
        _, errors = process.communicate(timeout=30)
        assert process.returncode == 2
        # On a busy machine the dispatcher may be late as well; the one that hangs is named in any case.
        assert b"processes did not start within 1.5 s: 'engine-1" in errors
        assert is_gone(process.pid)


async def test_a_second_signal_hurries(tmp_path: Path, slow: Path) -> None:
    state = tmp_path / "state"
    await put(state, "slow", ["60"])
    with started("up", "--flow", slow, "--state", state) as process:
        wait_until((tmp_path / "starts").exists, "a record under way")
        process.send_signal(signal.SIGINT)
        wait_until(lambda: "the group is stopping" in run("health", "--state", state).stdout, "stopping")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=10)
        assert process.returncode == 0
        assert is_gone(process.pid)


async def test_a_group_that_was_killed_leaves_nothing_in_the_way(tmp_path: Path, slow: Path) -> None:
    state = tmp_path / ("deep" * 30) / "state"
    await put(state, "slow", ["60"])
    for count in (1, 2):
        with started("up", "--flow", slow, "--state", state) as process:
            wait_until(lambda: serves(state), "serving")
            wait_until(partial(has_lines, tmp_path / "starts", count), "the record under way")
            process.kill()
            process.wait()
            wait_until(partial(is_gone, process.pid), "children gone with their main")
    assert lines(tmp_path / "starts") == ["r0", "r0"]


@pytest.mark.slow
async def test_P8_a_record_that_stops_its_engine_is_given_up_and_the_others_go_on(tmp_path: Path) -> None:
    flow, state = write(tmp_path / "flow.py", SPINNING_FLOW), tmp_path / "state"
    env = {"GRISTMILL_MAIN__STALL_TIMEOUT_S": "5", "GRISTMILL_DISPATCHER__DELIVERIES_MAX": "2"}
    await put(state, "think", ["fine", "spin", "fine"])
    with started("up", "--flow", flow, "--state", state, env=env) as process:
        wait_until(
            lambda: "the engine died" in run("dlq", "ls", "--state", state).stdout, "a dead letter", timeout_s=60
        )
        await put(state, "think", ["fine"])
        wait_until(lambda: serves(state), "serving again")
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=30)
    assert b"does not answer and is killed" in errors
    assert await open_records(state, "think") == 0


async def test_one_process_keeps_the_same_promises(tmp_path: Path, slow: Path) -> None:
    state = tmp_path / "state"
    await put(state, "slow", ["1", "1"])
    with started("up", "--flow", slow, "--state", state, env={"GRISTMILL_MAIN__PROCESS_MODEL": "single"}) as process:
        wait_until(lambda: len(lines(tmp_path / "starts")) == 2, "two records under way")
        assert serves(state)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=10)
        assert process.returncode == 0
    assert "run of plan slow version 1: done" in run("explain", "r0", "--state", state).stdout


def has_lines(path: Path, count: int) -> bool:
    return len(lines(path)) == count


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []
