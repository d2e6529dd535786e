"""What the API counts. Labels are names of operations and problems: both are fixed lists."""

from __future__ import annotations

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge, Histogram

__all__ = ["ApiMetrics"]

DURATION_BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.015, 0.03, 0.06, 0.1, 0.25, 1, 5, 30, 60)


class ApiMetrics:
    """Counters of one main process."""

    def __init__(self, registry: CollectorRegistry = REGISTRY) -> None:
        self.answers = Counter(
            "gristmill_http_answers",
            "Requests by operation and by what came of them: `ok`, or the name of a problem.",
            ["operation", "outcome"],
            registry=registry,
        )
        self.seconds = Histogram(
            "gristmill_http_seconds",
            "How long good answers took, by operation.",
            ["operation"],
            registry=registry,
            buckets=DURATION_BUCKETS_S,
        )
        self.waits = Gauge(
            "gristmill_wait",
            "1 while records of a generator wait for this reason, else 0.",
            ["generator", "reason"],
            registry=registry,
            multiprocess_mode="livemostrecent",
        )
        self.published = Counter(
            "gristmill_publish",
            "Records that were to be published, by what became of them.",
            ["result"],
            registry=registry,
        )
