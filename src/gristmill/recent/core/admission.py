"""Which created items are taken at all, by their time and id."""

from __future__ import annotations

import msgspec
import numpy as np

from gristmill.recent.core.event import EventRows, select
from gristmill.recent.core.limits import StoreLimits

__all__ = ["Admitted", "admit"]


class Admitted(msgspec.Struct, frozen=True):
    """Items that may be stored, and how many may not, by reason."""

    rows: EventRows
    expired: int
    future: int


def admit(rows: EventRows, limits: StoreLimits, *, now_ms: int) -> Admitted:
    """Sort out items that are older than the retention, or too far in the future; what is only a bit ahead is now.

    Args:
        rows: events that carry an item, in the order of the log.
    """
    age_ms = now_ms - rows["at_ms"]
    is_expired, is_future = age_ms > limits.retention_ms, age_ms < -limits.skew_ms
    kept = select(rows, ~is_expired & ~is_future)
    if (kept["at_ms"] > now_ms).any():
        kept = kept.copy()
        kept["at_ms"] = np.minimum(kept["at_ms"], now_ms)
    return Admitted(kept, int(is_expired.sum()), int(is_future.sum()))
