"""How long somebody who publishes has to wait while engines work, each case beside its limit.

    python bench/fairness.py [--quick] [--case NAME]

Prints one JSON line a case, see `cases/printing.py`. What counts is the worst of many waits, so `value` is the median
of the 99th percentiles.
"""

from __future__ import annotations

from cases.fairness import measure_publish, measure_publish_slow_disk
from cases.logs.urgent_flood import measure_urgent_flood
from cases.printing import print_cases

CASES = {
    "publish.p99": measure_publish,
    "publish.slow_disk.p99": measure_publish_slow_disk,
    "urgent.flood.p99": measure_urgent_flood,
}

if __name__ == "__main__":
    print_cases("fairness", CASES, doc=__doc__)
