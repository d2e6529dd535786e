"""What taking content in costs: mapping by a Source, and ids from a store that stalls.

    python bench/intake.py [--quick] [--case NAME]

Prints one JSON line a case, see `cases/printing.py`.
"""

from __future__ import annotations

from cases.ids_stall import measure_ids_stall
from cases.printing import print_cases
from cases.source_map import measure_source_map

CASES = {"source.map": measure_source_map, "ids.stall.p99": measure_ids_stall}

if __name__ == "__main__":
    print_cases("intake", CASES, doc=__doc__)
