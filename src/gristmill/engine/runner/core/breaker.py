"""Decides whether to claim while a dependency of the handler may be down."""

from __future__ import annotations

__all__ = ["FAILURES_IN_A_ROW", "PROBE_MS", "Breaker"]

FAILURES_IN_A_ROW = 5
"""Fewer would stop a group for a hiccup, more would send more records into the void."""

PROBE_MS = 5_000
"""How long a group stands still at least, and how late it notices that the dependency is back."""


class Breaker:
    """Closed: claim as there is room. Open: claim one record every `probe_ms`. Times are monotonic milliseconds."""

    def __init__(self, *, failures_max: int = FAILURES_IN_A_ROW, probe_ms: int = PROBE_MS) -> None:
        self._failures_max = failures_max
        self._probe_ms = probe_ms
        self._failures = 0
        self._probe_at_ms: int | None = None

    @property
    def is_open(self) -> bool:
        """Whether claiming has stopped."""
        return self._probe_at_ms is not None

    def on_dependency_down(self, *, now_ms: int) -> bool:
        """Note a run that failed for a dependency; return whether this opened the breaker."""
        self._failures += 1
        if self.is_open or self._failures < self._failures_max:
            return False
        self._probe_at_ms = now_ms + self._probe_ms
        return True

    def on_answer(self) -> bool:
        """Note a run that the dependency did not fail; return whether this closed the breaker."""
        was_open = self.is_open
        self._failures = 0
        self._probe_at_ms = None
        return was_open

    def on_claimed(self, *, now_ms: int) -> None:
        """Note that records came: while open, the next one is claimed a whole pause later."""
        if self.is_open:
            self._probe_at_ms = now_ms + self._probe_ms

    def limit(self, room: int, *, now_ms: int) -> int:
        """Return how many records to claim now, at most `room`."""
        if self._probe_at_ms is None:
            return room
        return min(1, room) if now_ms >= self._probe_at_ms else 0

    def due_in_ms(self, *, now_ms: int) -> int:
        """Return milliseconds until claiming is allowed, 0 if it is."""
        return 0 if self._probe_at_ms is None else max(0, self._probe_at_ms - now_ms)
