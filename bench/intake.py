"""What taking content in costs: mapping by a Source, and ids from a store that stalls.

    python bench/intake.py [--quick] [--case NAME]

Prints one JSON line a case, as `bench/spine.py` does.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable

from cases.figure import Figure
from cases.ids_stall import measure_ids_stall
from cases.source_map import measure_source_map
from spine import describe

CASES: dict[str, Callable[[bool], Figure]] = {
    "source.map": measure_source_map,
    "ids.stall.p99": measure_ids_stall,
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what taking content in costs.")
    parser.add_argument("--quick", action="store_true", help="fewer runs, for a first impression")
    parser.add_argument("--case", choices=sorted(CASES), help="measure this case alone")
    options = parser.parse_args()
    for name, measure in CASES.items():
        if options.case in (None, name):
            print(json.dumps({**describe(name, measure(options.quick)), "bench": "intake"}), flush=True)


if __name__ == "__main__":
    main()
