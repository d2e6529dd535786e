"""Processes of a group are killed at random moments; what a run leaves is that of an undisturbed one."""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path

import pytest

from gristmill.adapters.recording import read_history
from gristmill.testing.crash.cycles import run_cycles
from gristmill.testing.crash.loop import RunCommand, run_round, run_undisturbed
from gristmill.testing.crash.outputs import Findings
from gristmill.testing.crash.processes import VICTIMS, Victim
from gristmill.testing.crash.stream import load_records, write_stream

SAMPLE = Path(__file__).parents[2] / "src/gristmill/cli/data/demo_posts.jsonl"
LINES = 2_000
ROUNDS = 2
SEED = 20_261_130
CYCLES_SEED = 20_261_107
"""Draws deaths of every process, and a freeze past the leases."""

TIMEOUT_S = 120.0

pytestmark = [pytest.mark.crash, pytest.mark.timeout(600)]


def command(folder: Path, stream: Path) -> RunCommand:
    folder.mkdir()
    state, output, history = folder / "state", folder / "out.jsonl", folder / "history.jsonl"
    argv = [sys.executable, "-m", "gristmill", "run", "--input", str(stream), "--plan", "screen", "--engines", "2"]
    argv += ["--output", str(output), "--state", str(state)]
    env = {
        **os.environ,
        "GRISTMILL_DISPATCHER__LEASE_MS": "3000",
        "GRISTMILL_STORE__HISTORY_FILE": str(history),
    }
    return RunCommand(argv, output, history, state / "gristmill.sqlite", env, TIMEOUT_S)


@pytest.fixture(scope="module")
def stream(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("stream") / "stream.jsonl"
    write_stream(path, load_records([SAMPLE]), count=LINES, seed=SEED)
    return path


@pytest.fixture(scope="module")
def undisturbed(stream: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Findings, float]:
    folder = tmp_path_factory.mktemp("undisturbed")
    ran = command(folder / "run", stream)
    findings, seconds = run_undisturbed(ran)
    assert len(set(findings.lines)) == LINES
    kinds = {event.kind for event in read_history(ran.history)}
    assert {"publish", "deliver", "effect", "accept"} <= kinds
    return findings, seconds


@pytest.mark.parametrize("victim", VICTIMS)
@pytest.mark.parametrize("number", range(ROUNDS))
def test_P1_a_kill_loses_and_doubles_nothing(
    victim: Victim, number: int, stream: Path, undisturbed: tuple[Findings, float], tmp_path: Path
) -> None:
    expected, seconds = undisturbed
    chance = random.Random(f"{SEED} {victim} {number}")
    result = run_round(
        lambda draw: command(tmp_path / str(draw), stream),
        victim=victim,
        chance=chance,
        seconds=seconds,
        expected=expected,
    )
    assert not result.faults, f"killed {victim} after {result.after_s:.2f} s"


def test_P1_faults_of_a_group_that_serves_a_topic_lose_and_double_nothing(tmp_path: Path) -> None:
    outcome = run_cycles(tmp_path, log="sqlite", cycles=10, records=1_000, seed=CYCLES_SEED)
    assert outcome.records == 1_000
    assert outcome.redelivered > 0
    assert not outcome.faults, f"after {outcome.hurts}"
