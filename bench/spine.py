"""What the framework itself costs on the path of one item, each case beside its limit.

    python bench/spine.py [--quick] [--case NAME]

Prints one JSON line a case; `cases/printing.py` tells what stands in it. Figures hold for the machine that they were
measured on.
"""

from __future__ import annotations

from cases.plan12_memory import measure_plan12_memory
from cases.plan12_sqlite import measure_plan12_sqlite
from cases.printing import print_cases
from cases.screen_items import measure_screen_items
from cases.store import measure_store_commit, measure_store_log

# A further case is one module in `cases` with one function, and one line here.
CASES = {
    "plan12.memory": measure_plan12_memory,
    "plan12.sqlite": measure_plan12_sqlite,
    "screen.items": measure_screen_items,
    "store.commit": measure_store_commit,
    "store.log": measure_store_log,
}

if __name__ == "__main__":
    print_cases("spine", CASES, doc=__doc__)
