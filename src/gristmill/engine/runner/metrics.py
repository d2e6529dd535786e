"""What Runners count. Labels are topics and groups, bounded by what is configured."""

from __future__ import annotations

from functools import cache

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge, Histogram

__all__ = ["RunnerMetrics", "runner_metrics"]

DURATION_BUCKETS_S = (0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 120, 300)
PLACE = ("topic", "group")


class RunnerMetrics:
    """Counters and gauges of all Runners of a process."""

    def __init__(self, registry: CollectorRegistry = REGISTRY) -> None:
        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(f"gristmill_{name}", text, (*PLACE, *labels), registry=registry)

        def gauge(name: str, text: str) -> Gauge:
            return Gauge(f"gristmill_{name}", text, PLACE, registry=registry, multiprocess_mode="livemostrecent")

        self.messages = counter("messages", "Runs of a handler, and records buried without one.", "outcome")
        self.seconds = Histogram(
            "gristmill_message_seconds",
            "Seconds of a run of a handler.",
            PLACE,
            registry=registry,
            buckets=DURATION_BUCKETS_S,
        )
        self.redeliveries = counter("redelivery", "Deliveries after the first.")
        self.dead = counter("dlq", "Records that became dead letters.", "reason")
        self.renewals = counter("lease_extend", "Leases that were to be renewed.", "result")
        self.lease_lost = counter("lease_lost", "Leases lost while their record was worked on or waited.", "result")
        self.up = gauge("runner_up", "1 while the group can be claimed from, 0 while it cannot.")
        self.in_flight = gauge("runner_in_flight", "Records that handlers work on.")
        self.breaker_open = gauge("runner_breaker_open", "1 while claiming has stopped for a dependency.")
        self.key_held = gauge("runner_key_held_seconds", "How long records of one key wait behind an earlier one.")
        self.undelivered = gauge("lag_undelivered", "Records that the group has never claimed.")
        self.leased = gauge("lag_in_flight", "Records under a lease.")
        self.waiting = gauge("lag_waiting", "Records that were given back and wait.")
        self.oldest = gauge("lag_oldest_seconds", "Age of the oldest record that the group is not done with.")
        self.lost = counter("log_lost", "Records that were deleted before the group was done with them.")
        self.dead_open = gauge("lag_dead", "Dead letters of the group that nobody has dealt with.")
        self.poll_up = gauge("lag_poll_up", "1 while the lag can be read, 0 while the figures beside are old.")


@cache
def runner_metrics() -> RunnerMetrics:
    """Return the one set that all Runners of a process share."""
    return RunnerMetrics()
