"""Remembers the last records that could not be used, so that a person can look at them."""

from __future__ import annotations

from collections import deque

import msgspec

__all__ = ["BadRecord", "BadRecords"]

KEPT = 100
BYTES_KEPT = 256
WINDOW = 10_000


class BadRecord(msgspec.Struct, frozen=True):
    """One of them: where it stood, what is wrong, and how it begins (256 bytes)."""

    offset: int
    reason: str
    value: bytes


class BadRecords:
    """The last 100, and whether most of what comes is bad."""

    def __init__(self) -> None:
        self.kept: deque[BadRecord] = deque(maxlen=KEPT)
        self.is_degraded = False
        """Whether more than half of the last whole 10,000 records were bad."""
        self._seen = self._bad = 0

    def note(self, offset: int, reason: str, value: bytes) -> None:
        """Remember a record."""
        self.kept.append(BadRecord(offset, reason, value[:BYTES_KEPT]))
        self._bad += 1

    def on_read(self, count: int) -> None:
        """Count records that were read, bad ones included."""
        self._seen += count
        if self._seen >= WINDOW:
            self.is_degraded = self._bad * 2 > self._seen
            self._seen = self._bad = 0
