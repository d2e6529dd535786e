"""Named fault points, where a test may kill, delay or break the process; without `GRISTMILL_FAULT` they do nothing.

`GRISTMILL_FAULT` holds one or more plans, separated by commas: `name:kill`, `name:raise` or `name:delay=250`
(milliseconds), each optionally followed by `:after=n` to let the first n passages go by.
"""

from __future__ import annotations

import difflib
import os
import signal
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from gristmill.domain.errors import ConfigError, Unavailable

__all__ = ["FAULT_POINTS", "FAULT_VARIABLE", "FaultPlan", "arm", "fault", "parse_faults"]

FAULT_VARIABLE = "GRISTMILL_FAULT"

FAULT_POINTS: Mapping[str, str] = MappingProxyType(
    {
        "append.before": "records are ready, nothing is written",
        "append.after": "records are durable, the caller does not know yet",
        "claim.after": "records are leased, the caller does not know yet",
        "accept.before": "leases are about to be accepted",
        "accept.after": "leases are accepted, the caller does not know yet",
        "commit.before": "runs are packed, nothing is written",
        "commit.written": "a turn has written everything and not committed",
        "commit.after": "runs are durable, the caller does not know yet",
        "outbox.sent": "records of the outbox are in the log, the state does not know yet",
        "outbox.confirmed": "the state knows that they are sent, the log still remembers their rows",
        "outbox.forgotten": "the log has forgotten rows that the state still has",
        "reclaim.freed": "leases of a dead owner are free, its lock file still exists",
        "task.started": "an engine has marked an item and is about to run its tasks",
        "frame.sent": "a dispatcher has handed records to an engine",
    }
)
"""Every fault point, with what is true when it is passed."""


@dataclass
class FaultPlan:
    """What happens at one fault point, after `passages_left` passages have gone by."""

    action: str
    delay_ms: int = 0
    passages_left: int = 0


def parse_faults(text: str) -> dict[str, FaultPlan]:
    """Read the value of `GRISTMILL_FAULT`.

    Raises:
        ConfigError: unknown fault point or action; names the nearest known one.
    """
    plans: dict[str, FaultPlan] = {}
    for entry in filter(None, (part.strip() for part in text.split(","))):
        name, _, rest = entry.partition(":")
        if name not in FAULT_POINTS:
            near = difflib.get_close_matches(name, FAULT_POINTS, n=1)
            raise ConfigError(f"fault point in {FAULT_VARIABLE}", value=name, advice=f"known near it: {near}")
        plans[name] = _parse_plan(entry, rest.split(":"))
    return plans


def fault(name: str) -> None:
    """Pass a fault point of the catalogue."""
    if _armed is not None:
        _meet(name)


def arm(plans: Mapping[str, FaultPlan] | None) -> None:
    """Set the plans of this process, or none; for tests in one process."""
    global _armed
    _armed = dict(plans) if plans else None


def _parse_plan(entry: str, words: list[str]) -> FaultPlan:
    try:
        action, _, number = words[0].partition("=")
        after = next((int(word.removeprefix("after=")) for word in words[1:]), 0)
        plan = FaultPlan(action, int(number or 0), after)
    except ValueError:
        plan = FaultPlan("")
    if plan.action not in ("kill", "raise", "delay"):
        raise ConfigError(FAULT_VARIABLE, value=entry, advice="write name:kill, name:raise or name:delay=MS[:after=N]")
    return plan


def _meet(name: str) -> None:
    plan = _armed.get(name) if _armed is not None else None
    if plan is None:
        return
    if plan.passages_left > 0:
        plan.passages_left -= 1
        return
    match plan.action:
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "delay":
            threading.Event().wait(plan.delay_ms / 1000)
        case _:
            raise Unavailable(f"fault point {name!r}", advice=f"unset {FAULT_VARIABLE}")


_armed: dict[str, FaultPlan] | None = parse_faults(os.environ.get(FAULT_VARIABLE, "")) or None
