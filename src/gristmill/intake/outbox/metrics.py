"""What the outbox counts. Labels are topics and results: both bounded by what is defined."""

from __future__ import annotations

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge

__all__ = ["OutboxMetrics"]


class OutboxMetrics:
    """Counters of the one process that sends."""

    def __init__(self, registry: CollectorRegistry = REGISTRY) -> None:
        def gauge(name: str, text: str) -> Gauge:
            return Gauge(f"gristmill_outbox_{name}", text, registry=registry, multiprocess_mode="mostrecent")

        self.pending = gauge("pending", "Rows that are not in the log yet.")
        self.oldest_age = gauge("oldest_age_seconds", "Age of the oldest of them, 0 where there is none.")
        self.dispatches = Counter(
            "gristmill_outbox_dispatch",
            "Rows by what became of an attempt to send them: sent, refused, or unsent while the log is away.",
            ["topic", "result"],
            registry=registry,
        )
        self.reconciled = Counter(
            "gristmill_reconciled", "Publications that were lost in the log and sent again.", registry=registry
        )
