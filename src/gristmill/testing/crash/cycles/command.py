"""`python -m gristmill.testing.crash cycles|cuts --log LOG ...`: hurt a group over any log from the command line.

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

from gristmill.testing.crash.cycles.cuts import CutsOutcome, run_cuts
from gristmill.testing.crash.cycles.grounds import LogKind
from gristmill.testing.crash.cycles.loop import Outcome, run_cycles
from gristmill.testing.redis_server import find_servers
from gristmill.testing.simulate import quiet_logs

__all__ = ["main_of_cuts", "main_of_cycles"]


def main_of_cycles(arguments: Sequence[str]) -> int:
    """Run the cycles that the arguments ask for and return the exit code."""
    parser = _make_parser("cycles", get_args(LogKind))
    parser.add_argument("--cycles", type=int, default=200, help="how often something is hurt")
    parser.add_argument("--records", type=int, default=10_000, help="records in all, spread over the cycles")
    chosen = parser.parse_args(arguments)
    folder = _make_folder(chosen)
    with quiet_logs():
        outcome = run_cycles(
            folder,
            log=chosen.log,
            cycles=chosen.cycles,
            records=chosen.records,
            seed=chosen.seed,
            program=find_servers().get(chosen.server, ""),
            tell=lambda line: print(line, file=sys.stderr, flush=True),
        )
    return _finish(folder, outcome)


def main_of_cuts(arguments: Sequence[str]) -> int:
    """Make the cuts that the arguments ask for and return the exit code."""
    parser = _make_parser("cuts", ("redis", "kafka"))
    parser.add_argument("--cuts", type=int, default=50, help="how often all connections are cut")
    parser.add_argument("--outages", type=int, default=5, help="how often the server is away for a while")
    chosen = parser.parse_args(arguments)
    folder = _make_folder(chosen)
    program = find_servers().get(chosen.server, "")
    with quiet_logs():
        outcome = run_cuts(
            folder, log=chosen.log, cuts=chosen.cuts, outages=chosen.outages, seed=chosen.seed, program=program
        )
    return _finish(folder, outcome)


def _make_parser(name: str, logs: Sequence[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"python -m gristmill.testing.crash {name}", description=__doc__)
    parser.add_argument("--log", choices=logs, required=True, help="where the log is")
    parser.add_argument("--seed", type=int, default=1, help="draws what is done, and when")
    parser.add_argument("--server", choices=("redis", "valkey"), default="redis", help="of --log redis")
    return parser


def _make_folder(chosen: argparse.Namespace) -> Path:
    return Path(tempfile.mkdtemp(prefix=f"gristmill-{chosen.log}-"))


def _finish(folder: Path, outcome: Outcome | CutsOutcome) -> int:
    print(msgspec.json.encode(outcome).decode(), flush=True)
    if outcome.faults:
        print(f"kept: {folder}", file=sys.stderr)
        return 1
    shutil.rmtree(folder)
    return 0
