"""What retention counts. Labels are names of tables and of topics that generators serve."""

from __future__ import annotations

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge

__all__ = ["RetentionMetrics"]


class RetentionMetrics:
    """Counters of the one process that sweeps."""

    def __init__(self, registry: CollectorRegistry = REGISTRY) -> None:
        def gauge(name: str, text: str, *labels: str) -> Gauge:
            return Gauge(f"gristmill_retention_{name}", text, labels, registry=registry, multiprocess_mode="mostrecent")

        self.deleted = Counter(
            "gristmill_retention_rows_deleted", "Rows that were let go of.", ["table"], registry=registry
        )
        self.oldest = gauge("oldest_seconds", "Age of the oldest row of a table.", "table")
        self.held = gauge("topic_records", "Records of a topic that are still in the log.", "topic")
        self.standing = gauge("standing_seconds", "How long a group has stood still behind records.", "topic", "group")
        self.free_bytes = gauge("free_bytes", "What rows that are gone have left inside the file for new ones.")
        self.seconds = gauge("sweep_seconds", "How long the last sweep took.")
