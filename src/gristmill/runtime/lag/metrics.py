"""What is told of lags. Labels are topics and groups of generators: both are bounded by the flows."""

from __future__ import annotations

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge

from gristmill.domain.log import Lag

__all__ = ["LagMetrics"]

LABELS = ("topic", "group")


class LagMetrics:
    """Numbers of the one process that looks."""

    def __init__(self, registry: CollectorRegistry = REGISTRY) -> None:
        def gauge(name: str, text: str, *labels: str) -> Gauge:
            return Gauge(f"gristmill_{name}", text, labels, registry=registry, multiprocess_mode="livemostrecent")

        self._undelivered = gauge("lag_undelivered", "Records that were never handed out.", *LABELS)
        self._in_flight = gauge("lag_in_flight", "Records under a lease.", *LABELS)
        self._waiting = gauge("lag_waiting", "Records that wait until they are due.", *LABELS)
        self._oldest = gauge("lag_oldest_seconds", "Age of the oldest record that is not done with.", *LABELS)
        self._lost = Counter(
            "gristmill_log_lost", "Records deleted before the group was done with them.", LABELS, registry=registry
        )
        self.poll_up = gauge("lag_poll_up", "1 while lags can be asked for, else 0.")
        self._lost_before: dict[tuple[str, str], int] = {}

    def tell(self, topic: str, group: str, lag: Lag) -> None:
        """Set what is known of a group."""
        self._undelivered.labels(topic, group).set(lag.undelivered)
        self._in_flight.labels(topic, group).set(lag.in_flight)
        self._waiting.labels(topic, group).set(lag.waiting)
        self._oldest.labels(topic, group).set(lag.oldest_age_ms / 1000)
        # A log counts for good, a scrape since the start of the process; one that was lost itself counts anew.
        before = self._lost_before.get((topic, group), 0)
        self._lost.labels(topic, group).inc(max(0, lag.lost - before))
        self._lost_before[topic, group] = max(before, lag.lost)
