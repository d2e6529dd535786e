"""One round: start a run, kill a part of it at a given moment, let it recover, compare with the undisturbed run."""

from __future__ import annotations

import random
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from gristmill.testing.crash.audit import audit, record_crash
from gristmill.testing.crash.outputs import Findings, compute_differences, read_findings
from gristmill.testing.crash.processes import Victim, choose_pids, descendants, kill_hard, wait_gone

__all__ = ["RoundResult", "RunCommand", "run_round", "run_undisturbed"]

ORPHANS_GONE_S = 15.0
"""Children leave when their main dies; after this time one that is still there is an orphan."""

LOOK_AGAIN_S = 0.02
DRAWS_MAX = 5
"""A run may end before the moment that was drawn; an earlier moment is drawn then, this many times in all."""

STARTS_MAX = 4
"""Starts in a round, the first included; one kill needs two."""


class RunCommand(msgspec.Struct, frozen=True):
    """How to run the program under test.

    Attributes:
        argv: starts the run; called again with the same arguments it must go on where it stopped.
        output: the file that a finished run leaves.
        history: the file that the run records its history in.
        store: the run's SQLite file.
        env: environment of the program.
        timeout_s: a start that takes longer is wedged.
    """

    argv: Sequence[str]
    output: Path
    history: Path
    store: Path
    env: Mapping[str, str]
    timeout_s: float


class RoundResult(msgspec.Struct, frozen=True):
    """What one round came to; clean when it has no faults."""

    victim: Victim
    after_s: float
    killed: int
    starts: int
    seconds: float
    faults: tuple[str, ...]


def run_undisturbed(command: RunCommand) -> tuple[Findings, float]:
    """Run to the end and return the findings and the seconds it took."""
    started = time.monotonic()
    process = _start(command)
    try:
        process.wait(command.timeout_s)
    except subprocess.TimeoutExpired:
        _clear_away(process)
        raise
    return read_findings(command.output), time.monotonic() - started


def run_round(
    make_command: Callable[[int], RunCommand],
    *,
    victim: Victim,
    chance: random.Random,
    seconds: float,
    expected: Findings,
) -> RoundResult:
    """Kill `victim` once at a random moment of a run and compare what the finished run leaves.

    Args:
        make_command: returns the run of the n-th draw, in a folder of its own.
        seconds: how long an undisturbed run takes; the moment lies within it.
    """
    until_s = seconds
    for draw in range(DRAWS_MAX):
        after_s = chance.uniform(0.0, until_s)
        result = _run_with_kill(make_command(draw), victim=victim, after_s=after_s, expected=expected)
        if result.killed or result.faults:
            return result
        until_s = after_s
    return msgspec.structs.replace(result, faults=(f"no {victim} was killed: the run was over {DRAWS_MAX} times",))


def _run_with_kill(command: RunCommand, *, victim: Victim, after_s: float, expected: Findings) -> RoundResult:
    started = time.monotonic()
    faults: list[str] = []
    process = _start(command)
    killed = _kill_at(process, victim, after_s)
    record_crash(command.history, killed)
    starts = 1
    while True:
        family = descendants(process.pid)
        try:
            process.wait(command.timeout_s)
        except subprocess.TimeoutExpired:
            faults.append(f"wedge: no end within {command.timeout_s} s")
            _clear_away(process)
            break
        faults.extend(_find_orphans([*killed, *family]))
        if process.returncode >= 0 or starts == STARTS_MAX:
            break
        process = _start(command)
        starts += 1
    if process.returncode != 0:
        faults.append(f"exit code {process.returncode} at start {starts}")
    if command.output.exists():
        faults.extend(compute_differences(expected, read_findings(command.output)))
    else:
        faults.append("no output file")
    faults.extend(audit(command.history, command.store))
    return RoundResult(victim, after_s, len(killed), starts, time.monotonic() - started, tuple(faults))


def _start(command: RunCommand) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command.argv, env=dict(command.env), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True
    )


def _kill_at(process: subprocess.Popen[bytes], victim: Victim, after_s: float) -> list[int]:
    """Wait until the moment, and for the victim to be there, and kill; return the pids, none when the run was over."""
    wait_s = after_s
    while True:
        try:
            process.wait(wait_s)
        except subprocess.TimeoutExpired:
            pids = choose_pids(process.pid, victim)
            kill_hard(pids)
            if pids:
                return pids
            wait_s = LOOK_AGAIN_S
        else:
            return []


def _find_orphans(pids: Sequence[int]) -> list[str]:
    deadline = time.monotonic() + ORPHANS_GONE_S
    left = [pid for pid in pids if not wait_gone(pid, timeout_s=deadline - time.monotonic())]
    kill_hard(left)
    return [f"orphan: process {pid} outlived its main" for pid in left]


def _clear_away(process: subprocess.Popen[bytes]) -> None:
    kill_hard([process.pid, *descendants(process.pid)])
    process.wait()
