"""The store of recent items beside an indexed SQLite table in memory: same items, same questions, same answers.

    python bench/recent.py [--quick] [--case NAME]

Prints one JSON line a case, see `cases/printing.py`. `raw` is what SQLite needs in the same run, multiplied by what the
specification asks for: a fifth of its time for a query, three times its rate of insertion. `bytes` is held against a
limit.
"""

from __future__ import annotations

from cases.printing import print_cases
from cases.recent.queries import measure_bytes, measure_inserts, measure_query

CASES = {"recent.inserts": measure_inserts, "recent.query": measure_query, "recent.bytes": measure_bytes}

if __name__ == "__main__":
    print_cases("recent", CASES, doc=__doc__)
