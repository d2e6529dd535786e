"""What a publisher and a waiting reader see over HTTP, from a real group.

    python bench/publish.py [--quick] [--case NAME]

Prints one JSON line a case, as `bench/spine.py` does.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable

from cases.figure import Figure
from cases.http_service import measure_batch, measure_publish, measure_score
from spine import describe

CASES: dict[str, Callable[[bool], Figure]] = {
    "publish.p99": measure_publish,
    "publish.batch": measure_batch,
    "score.p99": measure_score,
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what publishing and scoring over HTTP cost.")
    parser.add_argument("--quick", action="store_true", help="less time, for a first impression")
    parser.add_argument("--case", choices=sorted(CASES), help="measure this case alone")
    options = parser.parse_args()
    for name, measure in CASES.items():
        if options.case in (None, name):
            print(json.dumps({**describe(name, measure(options.quick)), "bench": "publish"}), flush=True)


if __name__ == "__main__":
    main()
