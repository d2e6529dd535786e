"""What intake counts. Labels are sources, outcomes and reasons: all bounded by what is defined."""

from __future__ import annotations

from prometheus_client import REGISTRY, CollectorRegistry, Counter

__all__ = ["IntakeMetrics"]


class IntakeMetrics:
    """Counters of one process that maps records by Sources."""

    def __init__(self, registry: CollectorRegistry = REGISTRY) -> None:
        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(f"gristmill_intake_{name}", text, labels, registry=registry)

        self.records = counter("records", "Records that a Source has mapped.", "source", "outcome", "reason")
        self.filter_errors = counter("filter_errors", "Filters that could not be judged.", "source", "filter")
