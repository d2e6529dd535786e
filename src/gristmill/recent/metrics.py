"""What feeding and serving recent items count. Each is a process with a registry of its own."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from gristmill.recent.core.event import EventKind
from gristmill.recent.core.feed import DROP_REASONS
from gristmill.recent.core.gate import Gate
from gristmill.recent.store import RecentStore

__all__ = ["FeederMetrics", "ServingMetrics", "StoreCollector"]

DURATION_BUCKETS_S = (1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1, 3, 10)
SIZE_BUCKETS = (1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000, 100_000)


class FeederMetrics:
    """Counters of one feeder; each stands at 0 before its first event."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.events = Counter("gristmill_recent_fed", "Events that were fed, by kind.", ["kind"], registry=registry)
        self.dropped = Counter(
            "gristmill_recent_feeder_dropped",
            "Raw events left out, by reason.",
            ["reason"],
            registry=registry,
        )
        self.poll_errors = Counter("gristmill_recent_poll_errors", "Times that the log refused.", registry=registry)
        for kind in EventKind:
            self.events.labels(kind.name.lower())
        for reason in DROP_REASONS:
            self.dropped.labels(reason)


class ServingMetrics:
    """Counters and durations of one server."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.poll_errors = Counter("gristmill_recent_poll_errors", "Times that the log refused.", registry=registry)
        self.slice_seconds = Histogram(
            "gristmill_recent_write_slice_seconds",
            "How long the store was written to at a time.",
            registry=registry,
            buckets=DURATION_BUCKETS_S,
        )
        self.queries = Counter(
            "gristmill_recent_queries", "Queries by mode and result.", ["mode", "result"], registry=registry
        )
        self.query_seconds = Histogram(
            "gristmill_recent_query_seconds",
            "How long queries took in the store.",
            registry=registry,
            buckets=DURATION_BUCKETS_S,
        )
        self.returned = Histogram(
            "gristmill_recent_returned", "Items of an answer.", registry=registry, buckets=SIZE_BUCKETS
        )
        self.visited = Histogram(
            "gristmill_recent_visited", "Entries that a query looked at.", registry=registry, buckets=SIZE_BUCKETS
        )
        for mode in ("timeline", "video"):
            for result in ("whole", "partial"):
                self.queries.labels(mode, result)


class StoreCollector(Collector):
    """Reads a store and its gate when somebody asks, since both count by themselves."""

    def __init__(self, store: RecentStore, gate: Gate) -> None:
        self._store = store
        self._gate = gate

    def collect(self) -> Iterator[Metric]:
        """Return what stands now."""
        sizes = self._store.sizes()
        entities = GaugeMetricFamily("gristmill_recent_entities", "What the store holds, by type.", labels=["type"])
        for name in ("items", "rows", "authors", "tombstones", "originals", "secondary", "videos"):
            entities.add_metric([name], getattr(sizes, name))
        yield entities
        yield GaugeMetricFamily("gristmill_recent_bytes", "Memory of items, authors and indexes.", value=sizes.bytes)
        yield GaugeMetricFamily("gristmill_store_ready", "1 while queries are answered.", value=self._gate.is_open)
        yield GaugeMetricFamily("gristmill_store_lag_items", "Records that are known to wait.", value=self._gate.behind)
        yield CounterMetricFamily("gristmill_recent_read", "Events read.", value=self._store.tally.read)
        counts = CounterMetricFamily("gristmill_recent_events", "Events and facts by what became.", labels=["outcome"])
        for name, count in self._store.tally.counts.items():
            counts.add_metric([name], count)
        yield counts
