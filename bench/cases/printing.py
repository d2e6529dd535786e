"""Measures the cases that a command line asks for and prints a JSON line for each.

`bench, case, value, unit, raw, ratio, runs, spread`: `value` is the median of the runs; `raw` is what it is held
against (for a limit: the limit) and `ratio` how many times better than that it is; `spread` is (max - min) / median.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable, Mapping

from cases.figure import Figure

__all__ = ["print_cases"]


def print_cases(bench: str, cases: Mapping[str, Callable[[bool], Figure]], *, doc: str | None) -> None:
    """Measure what the command line names, all by default."""
    parser = argparse.ArgumentParser(description=(doc or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer runs, for a first impression")
    parser.add_argument("--case", choices=sorted(cases), help="measure this case alone")
    options = parser.parse_args()
    for name, measure in cases.items():
        if options.case in (None, name):
            print(json.dumps(_describe(bench, name, measure(options.quick))), flush=True)


def _describe(bench: str, name: str, figure: Figure) -> dict[str, object]:
    value = statistics.median(figure.runs)
    ratio = figure.raw / value if figure.less_is_better else value / figure.raw
    return {
        "bench": bench,
        "case": name,
        "value": round(value, 3),
        "unit": figure.unit,
        "raw": figure.raw,
        "ratio": round(ratio, 3),
        "runs": len(figure.runs),
        "spread": round((max(figure.runs) - min(figure.runs)) / value, 3),
        **{name: round(seen, 3) for name, seen in figure.more.items()},
    }
