"""`gristmill health` and `gristmill metrics`: how a running group is."""

from __future__ import annotations

import asyncio

from gristmill.cli.app import EXIT_OK, EXIT_TROUBLE
from gristmill.cli.options import ConfigFile, StateDir, state_folder
from gristmill.runtime.group.health import CONTROL_SOCKET, ask_health
from gristmill.runtime.telemetry import render_metrics

__all__ = ["health", "metrics"]

WHOLE_GROUP = "(all)"


def health(*, state: StateDir = None, config: ConfigFile = None) -> int:
    """Ask a running group whether it serves: one line a service, with the reasons if it does not.

    Exit code 0: it serves. 1: it does not, or no group runs here.
    """
    services = asyncio.run(ask_health(state_folder(state, config).socket(CONTROL_SOCKET)))
    for service in services:
        word = "SERVING" if service.is_serving else "NOT_SERVING"
        print(f"{service.name or WHOLE_GROUP:<16} {word:<12} {'; '.join(service.reasons)}".rstrip())
    return EXIT_OK if services[0].is_serving else EXIT_TROUBLE


def metrics(*, state: StateDir = None, config: ConfigFile = None) -> int:
    """Print the counters of all processes of the group that runs here, or ran last, as a scrape."""
    print(render_metrics(state_folder(state, config).metrics_dir), end="")
    return EXIT_OK
