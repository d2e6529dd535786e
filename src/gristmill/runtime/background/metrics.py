"""What background services count."""

from __future__ import annotations

from functools import cache

from prometheus_client import REGISTRY, Gauge

__all__ = ["last_success_gauge"]


@cache
def last_success_gauge() -> Gauge:
    """Return the gauge of this process; a name can be registered once."""
    return Gauge(
        "gristmill_background_last_success_seconds",
        "When a background service last did its work, UNIX time.",
        ["name"],
        registry=REGISTRY,
        multiprocess_mode="livemostrecent",
    )
