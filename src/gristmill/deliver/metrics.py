"""What deliveries count. Labels are addresses of subscriptions."""

from __future__ import annotations

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge

__all__ = ["DeliveryMetrics"]


class DeliveryMetrics:
    """Counters of the one process that delivers."""

    def __init__(self, registry: CollectorRegistry = REGISTRY) -> None:
        def count(name: str, text: str, *labels: str) -> Counter:
            return Counter(f"gristmill_delivery_{name}", text, ["subscription", *labels], registry=registry)

        def gauge(name: str, text: str) -> Gauge:
            return Gauge(
                f"gristmill_delivery_{name}", text, ["subscription"], registry=registry, multiprocess_mode="mostrecent"
            )

        self.messages = count("messages", "Messages that a receiver has taken.")
        self.requests = count("requests", "Requests, or appends to a topic, by outcome.", "outcome")
        self.row_errors = count("row_errors", "Items on which a condition failed; they count as not selected.")
        self.lag = gauge("lag_seconds", "Age of the oldest change that is not delivered, 0 where there is none.")
        self.failures = gauge("failures", "Rounds in a row that brought nothing to the receiver.")
