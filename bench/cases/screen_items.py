"""screen.items: items per second of the shipped flow `screen`, through the real process group over SQLite.

`gristmill run` works off a varied stream made of the project's own sample posts: every line has a new id, most a small
change. The figure is the one that the command reports, from the first record claimed to the last result stored.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from cases.figure import Figure

from gristmill.testing.crash.stream import load_records, write_stream

ITEMS_PER_S_MIN = 1_000.0
"""What the flow must do on two cores."""

SAMPLE = Path(__file__).parents[2] / "src/gristmill/cli/data/demo_posts.jsonl"
REPORTED = re.compile(r"seconds\s+([\d.]+)")
SEED = 1


def measure_screen_items(quick: bool) -> Figure:
    """Return items per second, one value for each run over a state folder of its own."""
    batches, lines = (1, 5_000) if quick else (3, 20_000)
    with tempfile.TemporaryDirectory(prefix="gristmill-bench-") as folder:
        stream = Path(folder) / "stream.jsonl"
        write_stream(stream, load_records([SAMPLE]), count=lines, seed=SEED)
        runs = tuple(_run_once(Path(folder) / f"state-{number}", stream, lines) for number in range(batches))
    return Figure(runs=runs, unit="items/s", raw=ITEMS_PER_S_MIN, less_is_better=False)


def _run_once(state: Path, stream: Path, lines: int) -> float:
    argv = [sys.executable, "-m", "gristmill", "run", "--input", str(stream), "--plan", "screen", "--state", str(state)]
    began = time.monotonic()
    done = subprocess.run(
        [*argv, "--output", str(state.with_suffix(".jsonl"))],
        env={**os.environ, "COLUMNS": "100"},
        capture_output=True,
        text=True,
        check=True,
    )
    spent = time.monotonic() - began
    reported = REPORTED.search(done.stdout + done.stderr)
    return lines / (float(reported.group(1)) if reported else spent)
