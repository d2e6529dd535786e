"""What the framework itself costs on the path of one item, each case beside its limit.

    python bench/spine.py [--quick] [--case NAME]

Prints one JSON line a case: `bench, case, value, unit, raw, ratio, runs, spread`. `value` is the median of the runs;
`raw` is what it is held against (for a limit: the limit) and `ratio` how many times better than that it is; `spread` is
(max - min) / median. Figures hold for the machine that they were measured on.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable

from cases.figure import Figure
from cases.plan12_memory import measure_plan12_memory
from cases.plan12_sqlite import measure_plan12_sqlite
from cases.screen_items import measure_screen_items
from cases.store import measure_store_commit, measure_store_log

# A further case is one module in `cases` with one function, and one line here.
CASES: dict[str, Callable[[bool], Figure]] = {
    "plan12.memory": measure_plan12_memory,
    "plan12.sqlite": measure_plan12_sqlite,
    "screen.items": measure_screen_items,
    "store.commit": measure_store_commit,
    "store.log": measure_store_log,
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the framework's own cost.")
    parser.add_argument("--quick", action="store_true", help="fewer runs, for a first impression")
    parser.add_argument("--case", choices=sorted(CASES), help="measure this case alone")
    options = parser.parse_args()
    for name, measure in CASES.items():
        if options.case in (None, name):
            print(json.dumps(describe(name, measure(options.quick))), flush=True)


def describe(name: str, figure: Figure) -> dict[str, object]:
    """Return the line to print for one case."""
    value = statistics.median(figure.runs)
    ratio = figure.raw / value if figure.less_is_better else value / figure.raw
    return {
        "bench": "spine",
        "case": name,
        "value": round(value, 3),
        "unit": figure.unit,
        "raw": figure.raw,
        "ratio": round(ratio, 3),
        "runs": len(figure.runs),
        "spread": round((max(figure.runs) - min(figure.runs)) / value, 3),
    }


if __name__ == "__main__":
    main()
