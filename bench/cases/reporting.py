"""Runs every script of `bench/` and writes what they print into one page.

    python bench/cases/reporting.py --date 2026-11-30 [--quick] [--output docs/reports/bench.md]

Each line of a script is shown as it is printed. A script that fails ends the run, and the page stays as it was.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import apsw

__all__ = ["main"]

BENCH = Path(__file__).parents[1]
INTRO = """# Measured speed

Written by `make bench`; do not edit. Figures hold for the machine below and for nothing else; on a machine that others
use at the same time they are too bad, so look at the spread. `limit / raw` is what a figure is held against: a limit of
the design, or the bare tool underneath. A ratio above 1 is better than that.
"""
HEADINGS = ("bench", "case", "value", "unit", "limit / raw", "ratio", "runs", "spread")
KEYS = ("bench", "case", "value", "unit", "raw", "ratio", "runs", "spread")


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description="Run all benches and write the report.")
    parser.add_argument("--date", required=True, help="day of the measurement, as it shall stand in the report")
    parser.add_argument("--quick", action="store_true", help="fewer runs, for a first impression")
    parser.add_argument("--output", type=Path, help="write the report here; by default only the lines are printed")
    options = parser.parse_args()
    facts = read_machine()
    rows = [row for script in sorted(BENCH.glob("*.py")) for row in _run(script, quick=options.quick)]
    if options.output is not None:
        options.output.parent.mkdir(parents=True, exist_ok=True)
        options.output.write_text(compose(rows, facts, date=options.date, quick=options.quick), "utf-8")


def read_machine() -> dict[str, str]:
    """Return what the figures depend on."""
    cpu = next(
        (line.partition(":")[2].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")),
        platform.processor(),
    )
    memory_kib = next((int(line.split()[1]) for line in _lines("/proc/meminfo") if line.startswith("MemTotal")), 0)
    return {
        "processor": f"{cpu}, {len(os.sched_getaffinity(0))} cores",
        "memory": f"{memory_kib / 1024**2:.1f} GiB",
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "sqlite": apsw.sqlite_lib_version(),
        "load at the start": f"{os.getloadavg()[0]:.1f}",
    }


def compose(rows: Sequence[Mapping[str, Any]], facts: Mapping[str, str], *, date: str, quick: bool) -> str:
    """Return the page."""
    kind = "quick, for a first impression" if quick else "full"
    lines = [INTRO, "| | |", "|---|---|", f"| date | {date} |", f"| kind of run | {kind} |"]
    lines += [f"| {name} | {value} |" for name, value in facts.items()]
    lines += ["", f"| {' | '.join(HEADINGS)} |", f"|{'---|' * len(HEADINGS)}"]
    lines += [f"| {' | '.join(_show(row[key]) for key in KEYS)} |" for row in rows]
    return "\n".join(lines) + "\n"


def _run(script: Path, *, quick: bool) -> Iterator[dict[str, Any]]:
    command = [sys.executable, str(script), *(["--quick"] if quick else [])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        for line in running.stdout or ():
            print(line, end="", flush=True)
            yield json.loads(line)
    if running.returncode:
        sys.exit(f"{script.name} ended with {running.returncode}")


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text("utf-8").splitlines()
    except OSError:
        return []


def _show(value: object) -> str:
    return f"{value:,.3f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main()
