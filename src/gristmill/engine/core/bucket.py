"""A token bucket: at most `max_qps` records a second in the long run, and a burst of one second's worth."""

from __future__ import annotations

__all__ = ["TokenBucket"]

US_PER_S = 1_000_000


class TokenBucket:
    """Tokens of one generator. Look first, take what was really given: nothing is ever held back once claimed.

    Args:
        rate: tokens per second, above 0. The bucket holds that many, at least 1, and starts full.
        now_us: monotonic microseconds.
    """

    def __init__(self, rate: float, *, now_us: int) -> None:
        self._rate = rate
        self._burst = max(1.0, rate)
        self._tokens = self._burst
        self._seen_at_us = now_us

    def available(self, *, now_us: int) -> int:
        """Return how many whole tokens there are."""
        self._refill(now_us)
        return int(self._tokens)

    def take(self, count: int, *, now_us: int) -> None:
        """Use up tokens; the caller has looked that they are there."""
        self._refill(now_us)
        self._tokens -= count

    def due_in_ms(self, *, now_us: int) -> int:
        """Return milliseconds until there is a token, 0 if there is one, rounded up."""
        self._refill(now_us)
        missing = 1.0 - self._tokens
        return 0 if missing <= 0 else int(missing / self._rate * 1_000) + 1

    def _refill(self, now_us: int) -> None:
        self._tokens = min(self._burst, self._tokens + (now_us - self._seen_at_us) * self._rate / US_PER_S)
        self._seen_at_us = now_us
