"""Finds and kills the processes of a group that this process started. Linux only: it reads /proc."""

from __future__ import annotations

import os
import select
import signal
from pathlib import Path
from typing import Literal, get_args

from gristmill.domain.errors import UsageError

__all__ = ["VICTIMS", "Victim", "choose_pids", "descendants", "kill_hard", "wait_gone"]

Victim = Literal["engine", "dispatcher", "main", "group"]
VICTIMS: tuple[Victim, ...] = get_args(Victim)


def descendants(pid: int) -> list[int]:
    """Return the pids of all living descendants of a process, parents first."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = [int(child) for child in task.read_text().split()]
        except OSError:
            continue
        for child in children:
            found.extend([child, *descendants(child)])
    return found


def choose_pids(main: int, victim: Victim) -> list[int]:
    """Return the pids to kill: one engine, the dispatcher, main alone, or the whole group; empty if not there yet."""
    match victim:
        case "main":
            return [main]
        case "group":
            return [main, *descendants(main)]
        case "engine" | "dispatcher":
            return [pid for pid in descendants(main) if victim in _command_line(pid)][:1]
        case _:
            raise UsageError("victim", value=victim, advice=f"one of {', '.join(VICTIMS)}")


def kill_hard(pids: list[int]) -> None:
    """Send SIGKILL to each; one that is gone already is fine."""
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


def wait_gone(pid: int, *, timeout_s: float) -> bool:
    """Wait until a process has ended; return whether it did in time. A zombie has ended."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], max(0.0, timeout_s))[0])
    finally:
        os.close(handle)


def _command_line(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    except OSError:
        return []
