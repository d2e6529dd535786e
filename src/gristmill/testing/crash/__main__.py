"""`python -m gristmill.testing.crash --input FILE ...`: the crash loop from the command line.

Prints one JSON line a round and leaves with 1 when any round had a fault. With `cycles --log sqlite|redis|kafka` it
hurts a group that serves a topic instead, with `cuts --log redis|kafka` its connections alone; `--help` tells more.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
import tempfile
from pathlib import Path

import msgspec

from gristmill.testing.crash.cycles.command import main_of_cuts, main_of_cycles
from gristmill.testing.crash.loop import RunCommand, run_round, run_undisturbed
from gristmill.testing.crash.processes import VICTIMS
from gristmill.testing.crash.stream import load_records, write_stream

__all__: list[str] = []

LEASE_MS = "3000"
WEDGED_AFTER = 6.0
"""A run that takes this many times as long as the undisturbed one, and a minute more, is wedged."""


def main() -> int:
    match sys.argv[1:2]:
        case ["cycles"]:
            return main_of_cycles(sys.argv[2:])
        case ["cuts"]:
            return main_of_cuts(sys.argv[2:])
    arguments = _parse()
    root = Path(tempfile.mkdtemp(prefix="gristmill-crash-"))
    stream = root / "stream.jsonl"
    write_stream(stream, load_records(arguments.input), count=arguments.lines, seed=arguments.seed)
    expected, seconds = run_undisturbed(_command(root / "undisturbed", stream, arguments, timeout_s=900.0))
    print(f"undisturbed: {len(expected.lines)} lines in {seconds:.1f} s", file=sys.stderr)
    chance = random.Random(arguments.seed)
    faulty = 0
    for number in range(arguments.rounds):
        for victim in arguments.victims:
            folder = root / f"{victim}-{number}"

            def make_command(draw: int, folder: Path = folder) -> RunCommand:
                return _command(folder / str(draw), stream, arguments, timeout_s=60.0 + WEDGED_AFTER * seconds)

            result = run_round(make_command, victim=victim, chance=chance, seconds=seconds, expected=expected)
            print(msgspec.json.encode(result).decode(), flush=True)
            faulty += bool(result.faults)
            if not result.faults:
                shutil.rmtree(folder)
    if not faulty:
        shutil.rmtree(root)
    print(f"rounds with faults: {faulty}; kept: {root if faulty else 'nothing'}", file=sys.stderr)
    return 1 if faulty else 0


def _command(folder: Path, stream: Path, arguments: argparse.Namespace, *, timeout_s: float) -> RunCommand:
    folder.mkdir(parents=True)
    output = folder / "out.jsonl"
    argv = [sys.executable, "-m", "gristmill", "run", "--input", str(stream), "--output", str(output)]
    state, history = folder / "state", folder / "history.jsonl"
    argv += ["--plan", arguments.plan, "--state", str(state)]
    env = {
        **os.environ,
        "GRISTMILL_DISPATCHER__LEASE_MS": LEASE_MS,
        "GRISTMILL_STORE__HISTORY_FILE": str(history),
    }
    return RunCommand(argv, output, history, state / "gristmill.sqlite", env, timeout_s)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m gristmill.testing.crash", description=__doc__)
    parser.add_argument("--input", type=Path, nargs="+", required=True, help="JSONL files with id and text")
    parser.add_argument("--lines", type=int, default=20_000, help="length of the varied stream")
    parser.add_argument("--rounds", type=int, default=20, help="rounds for each victim")
    parser.add_argument("--victims", nargs="+", choices=VICTIMS, default=list(VICTIMS))
    parser.add_argument("--plan", default="screen")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
