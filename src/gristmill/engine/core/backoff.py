"""How long a failing part is left alone before it is tried again: 1, 2, 4 ... 60 seconds."""

from __future__ import annotations

__all__ = ["Backoff", "compute_backoff_ms"]

BACKOFF_MS_MIN = 1_000
BACKOFF_MS_MAX = 60_000


def compute_backoff_ms(failures: int, *, min_ms: int = BACKOFF_MS_MIN, max_ms: int = BACKOFF_MS_MAX) -> int:
    """Return the pause after the n-th failure in a row, n >= 1: doubling from `min_ms` to `max_ms`."""
    # The exponent is bounded as well: a part that fails for days must not build a huge number first.
    return min(max_ms, min_ms << min(failures - 1, 32))


class Backoff:
    """Whether one part may be tried now."""

    def __init__(self, *, min_ms: int = BACKOFF_MS_MIN, max_ms: int = BACKOFF_MS_MAX) -> None:
        self._min_ms = min_ms
        self._max_ms = max_ms
        self._failures = 0
        self._ready_at_ms = 0

    @property
    def is_failing(self) -> bool:
        """Whether the last try failed."""
        return self._failures > 0

    def ready_in_ms(self, *, now_ms: int) -> int:
        """Return milliseconds until the next try is due, 0 if it is."""
        return max(0, self._ready_at_ms - now_ms) if self._failures else 0

    def on_failure(self, *, now_ms: int) -> int:
        """Note a failure and return the pause that follows it, in milliseconds."""
        self._failures += 1
        pause_ms = compute_backoff_ms(self._failures, min_ms=self._min_ms, max_ms=self._max_ms)
        self._ready_at_ms = now_ms + pause_ms
        return pause_ms

    def on_success(self) -> None:
        """Start again from the shortest pause with the next failure."""
        self._failures = 0
