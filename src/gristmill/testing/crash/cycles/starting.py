"""The group that is hurt: `gristmill up` over the numbered flow, two engines, short leases, its history on file."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

from gristmill.domain.log import NewRecord
from gristmill.testing.crash import numbered
from gristmill.testing.crash.cycles.grounds import LEASE_MS, TOPIC, Ground

__all__ = ["make_record", "start_group"]

SLOW_EVERY = 3


def start_group(
    folder: Path, ground: Ground, *, history: Path, environment: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """Start a group over a log.

    Args:
        folder: gets its state and what it says.
        environment: goes before what the group is told otherwise.
    """
    argv = [sys.executable, "-m", "gristmill", "up", "--topic", TOPIC, "--plan", "numbered", "--engines", "2"]
    argv += ["--flow", numbered.__file__, "--state", str(folder / "state")]
    told = {
        **os.environ,
        "GRISTMILL_API__ENABLED": "false",
        "GRISTMILL_GRPC__ENABLED": "off",
        "GRISTMILL_FLOWS__ENABLED": "numbered",
        "GRISTMILL_DISPATCHER__LEASE_MS": str(LEASE_MS),
        "GRISTMILL_DISPATCHER__DELIVERIES_MAX": str(ground.bounds.attempts_max),
        "GRISTMILL_DISPATCHER__MONITOR_INTERVAL_S": "1",
        "GRISTMILL_STORE__HISTORY_FILE": str(history),
        "PYTHONFAULTHANDLER": "1",
        **ground.environment,
        **(environment or {}),
    }
    with (folder / "group.log").open("ab") as said:
        return subprocess.Popen(
            argv, env=told, stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True
        )


def make_record(number: int) -> NewRecord:
    """Return the record of a number; every third takes so long that some are always under way."""
    pace = f" {numbered.SLOW}" if number % SLOW_EVERY == 0 else ""
    value = msgspec.json.encode({"id": f"n{number}", "text": f"number {number}{pace}"})
    return NewRecord(value, key=f"n{number}")
