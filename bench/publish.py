"""What a publisher and a waiting reader see over HTTP, from a real group.

    python bench/publish.py [--quick] [--case NAME]

Prints one JSON line a case, see `cases/printing.py`.
"""

from __future__ import annotations

from cases.http_service import measure_batch, measure_publish, measure_publish_slow_disk, measure_score
from cases.printing import print_cases

CASES = {
    "publish.p99": measure_publish,
    "publish.slow_disk.p99": measure_publish_slow_disk,
    "publish.batch": measure_batch,
    "score.p99": measure_score,
}

if __name__ == "__main__":
    print_cases("publish", CASES, doc=__doc__)
