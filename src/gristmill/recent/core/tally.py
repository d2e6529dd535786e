"""Counts what became of every event that was read, so that none is lost without a trace.

`read` is the sum of all that `OUTCOMES` name, at any time between two batches; the rest are facts beside it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

__all__ = ["FACTS", "OUTCOMES", "Name", "Tally"]

Name = Literal[
    "inserted",
    "duplicate",
    "updated",
    "tombstone_rejected",
    "expired_rejected",
    "future_rejected",
    "over_cap",
    "no_id_rejected",
    "deleted",
    "undeleted",
    "hidden",
    "restored",
    "labelled",
    "decode_failed",
    "unknown_kind",
    "empty",
    "ring_evicted",
    "trimmed",
    "late_spliced",
    "reposts_forgotten",
    "decisions_forgotten",
    "tombstones_evicted",
    "swept_at_finalise",
]

OUTCOMES: tuple[Name, ...] = (
    "inserted",
    "duplicate",
    "updated",
    "tombstone_rejected",
    "expired_rejected",
    "future_rejected",
    "over_cap",
    "no_id_rejected",
    "deleted",
    "hidden",
    "restored",
    "labelled",
    "decode_failed",
    "unknown_kind",
    "empty",
)
"""Each event has exactly one; a frame that cannot be decoded, and an empty record, count as one event."""

FACTS: tuple[Name, ...] = (
    "undeleted",
    "ring_evicted",
    "trimmed",
    "late_spliced",
    "reposts_forgotten",
    "decisions_forgotten",
    "tombstones_evicted",
    "swept_at_finalise",
)
"""What happens to items and notes after their event."""


class Tally:
    """Running counts of one store."""

    def __init__(self) -> None:
        self.read = 0
        self.counts: dict[Name, int] = dict.fromkeys((*OUTCOMES, *FACTS), 0)

    def add(self, name: Name, count: int = 1) -> None:
        """Count events with an outcome, or facts."""
        self.counts[name] += count

    def add_all(self, counts: Iterable[tuple[Name, int]]) -> None:
        """Count several."""
        for name, count in counts:
            self.counts[name] += count

    @property
    def outcomes(self) -> int:
        """Events whose outcome is known; equals `read` between two batches."""
        return sum(self.counts[name] for name in OUTCOMES)
