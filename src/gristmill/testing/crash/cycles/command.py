"""`python -m gristmill.testing.crash cycles --log LOG ...`: hurt a group over any log from the command line.

Prints one JSON line and leaves with 1 when anything was wrong; then the folder with its logs and history stays.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import msgspec

from gristmill.testing.crash.cycles.grounds import LogKind
from gristmill.testing.crash.cycles.loop import run_cycles
from gristmill.testing.redis_server import find_servers

__all__ = ["main"]


def main(arguments: Sequence[str]) -> int:
    """Run the cycles that the arguments ask for and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m gristmill.testing.crash cycles", description=__doc__)
    parser.add_argument("--log", choices=get_args(LogKind), required=True, help="where the log is")
    parser.add_argument("--cycles", type=int, default=200, help="how often something is hurt")
    parser.add_argument("--records", type=int, default=10_000, help="records in all, spread over the cycles")
    parser.add_argument("--seed", type=int, default=1, help="draws what is hurt, and when")
    parser.add_argument("--server", choices=("redis", "valkey"), default="redis", help="of --log redis")
    chosen = parser.parse_args(arguments)
    folder = Path(tempfile.mkdtemp(prefix=f"gristmill-{chosen.log}-"))
    outcome = run_cycles(
        folder,
        log=chosen.log,
        cycles=chosen.cycles,
        records=chosen.records,
        seed=chosen.seed,
        program=find_servers().get(chosen.server, ""),
        tell=lambda line: print(line, file=sys.stderr, flush=True),
    )
    print(msgspec.json.encode(outcome).decode(), flush=True)
    if outcome.faults:
        print(f"kept: {folder}", file=sys.stderr)
        return 1
    shutil.rmtree(folder)
    return 0
