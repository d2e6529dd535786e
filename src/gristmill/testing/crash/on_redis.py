"""`python -m gristmill.testing.crash.on_redis --cycles 50`: hurt a group over Redis from the command line.

Prints one JSON line and leaves with 1 when anything was wrong; then the folder with its logs and history stays.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

import msgspec

from gristmill.testing.crash.cycles import run_cycles
from gristmill.testing.redis_server import find_servers

__all__ = ["main"]


def main() -> int:
    """Run the cycles that the command line asks for and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m gristmill.testing.crash.on_redis", description=__doc__)
    parser.add_argument("--cycles", type=int, default=50)
    parser.add_argument("--per-s", type=int, default=200, help="records appended each second")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--server", choices=("redis", "valkey"), default="redis")
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="gristmill-redis-"))
    program = find_servers().get(arguments.server, "")
    outcome = run_cycles(folder, cycles=arguments.cycles, seed=arguments.seed, per_s=arguments.per_s, program=program)
    print(msgspec.json.encode(outcome).decode(), flush=True)
    if outcome.faults:
        print(f"kept: {folder}", file=sys.stderr)
        return 1
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
