"""What Runners count. Labels are topics and groups, bounded by what is configured."""

from __future__ import annotations

from functools import cache, cached_property

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge, Histogram

from gristmill.domain.log import Lag

__all__ = ["LagMetrics", "RunnerMetrics", "lag_metrics", "runner_metrics"]

DURATION_BUCKETS_S = (0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 120, 300)
PLACE = ("topic", "group")
MS_PER_S = 1_000


class RunnerMetrics:
    """Counters and gauges of all Runners of a process."""

    def __init__(self, registry: CollectorRegistry = REGISTRY) -> None:
        self._registry = registry

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

    @cached_property
    def lag(self) -> LagMetrics:
        """What is told of lags: of the whole process, or of the registry that was given."""
        return lag_metrics() if self._registry is REGISTRY else LagMetrics(self._registry)


class LagMetrics:
    """How far groups are behind, whoever looks. A process has one of these."""

    def __init__(self, registry: CollectorRegistry = REGISTRY) -> None:
        def gauge(name: str, text: str) -> Gauge:
            return Gauge(f"gristmill_{name}", text, PLACE, registry=registry, multiprocess_mode="livemostrecent")

        self._undelivered = gauge("lag_undelivered", "Records that the group has never claimed.")
        self._in_flight = gauge("lag_in_flight", "Records under a lease.")
        self._waiting = gauge("lag_waiting", "Records that were given back and wait.")
        self._oldest = gauge("lag_oldest_seconds", "Age of the oldest record that the group is not done with.")
        self._dead = gauge("lag_dead", "Dead letters of the group that nobody has dealt with.")
        self._lost = Counter(
            "gristmill_log_lost", "Records that were deleted before the group was done.", PLACE, registry=registry
        )
        self._poll_up = gauge("lag_poll_up", "1 while the lag can be read, 0 while the figures beside are old.")
        self._lost_before: dict[tuple[str, str], int] = {}

    def tell(self, topic: str, group: str, lag: Lag | None) -> None:
        """Set what is known of a group; with None its lag could not be read, and its figures stay."""
        place = (topic, group)
        self._poll_up.labels(*place).set(int(lag is not None))
        if lag is None:
            return
        self._undelivered.labels(*place).set(lag.undelivered)
        self._in_flight.labels(*place).set(lag.in_flight)
        self._waiting.labels(*place).set(lag.waiting)
        self._oldest.labels(*place).set(lag.oldest_age_ms / MS_PER_S)
        self._dead.labels(*place).set(lag.dead)
        self.tell_lost(topic, group, lag.lost)

    def tell_lost(self, topic: str, group: str, lost: int) -> None:
        """Count on to what the log has counted as lost to a group."""
        place = (topic, group)
        # A log counts for good, a scrape since the start of the process; one that was lost itself counts anew.
        before = self._lost_before.get(place, 0)
        self._lost.labels(*place).inc(max(0, lost - before))
        self._lost_before[place] = max(before, lost)


@cache
def runner_metrics() -> RunnerMetrics:
    """Return the one set that all Runners of a process share."""
    return RunnerMetrics()


@cache
def lag_metrics() -> LagMetrics:
    """Return the one set that everybody of a process shares who looks at lags."""
    return LagMetrics()
