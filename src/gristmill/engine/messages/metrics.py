"""What record routing counts. Labels are types, tiers and plans, bounded by the routing table."""

from __future__ import annotations

from functools import cache
from typing import Literal

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge, Histogram

__all__ = ["MessageMetrics", "RecordEnd", "message_metrics"]

RecordEnd = Literal["done", "copy", "stale", "left_over", "given_up"]
"""`copy`: its id was seen before; `stale`: its content has a newer revision; `left_over`: a later try was first."""

DURATION_BUCKETS_S = (0.01, 0.05, 0.1, 0.5, 1, 5, 30, 300, 3_600)


class MessageMetrics:
    """Counters of all record routing of a process."""

    def __init__(self, registry: CollectorRegistry = REGISTRY) -> None:
        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(f"gristmill_messages_{name}", text, labels, registry=registry)

        self.sent = counter("sent", "Records that were taken in and appended to their topic.", "type", "tier")
        self.refused = counter("refused", "Records that cannot be routed, by error class.", "reason")
        self.ended = counter("ended", "Records that have ended, by how.", "type", "outcome")
        self.retries = counter("retries", "Tries after which some plan is to be called again.", "type")
        self.jumps = counter("jumps", "Calls of plans, by outcome.", "plan", "outcome")
        self.seconds = Histogram(
            "gristmill_messages_seconds",
            "Seconds from the time a record tells of to its end.",
            ["tier"],
            registry=registry,
            buckets=DURATION_BUCKETS_S,
        )
        self.held = Gauge(
            "gristmill_messages_topic_held",
            "1 while this process works on a topic, 0 while another one does.",
            ["topic"],
            registry=registry,
            multiprocess_mode="livemostrecent",
        )


@cache
def message_metrics() -> MessageMetrics:
    """Return the one set that all record routing of a process shares."""
    return MessageMetrics()
