"""How many queries are taken: what is beyond is refused at once, and never waits in a queue."""

from __future__ import annotations

from gristmill.api.problems import problem
from gristmill.engine.core.bucket import TokenBucket
from gristmill.ports.clock import Clock

__all__ = ["Admission"]

AUTHORS_PER_TOKEN = 1_000
"""A query costs one token and one more for so many authors, so that large ones do not starve small ones."""


class Admission:
    """A bucket of one second's worth for all callers together.

    Args:
        queries_per_s: small queries taken in a second.
    """

    def __init__(self, clock: Clock, *, queries_per_s: int) -> None:
        self._clock = clock
        self._bucket = TokenBucket(queries_per_s, now_us=clock.monotonic_us())
        self.shed = 0
        """Queries that were refused."""

    def take(self, author_count: int) -> None:
        """Let a query in.

        Raises:
            ProblemRaised: `rate-limited`, with the time after which there is room again.
        """
        now_us = self._clock.monotonic_us()
        if not self._bucket.available(now_us=now_us):
            self.shed += 1
            after_s = -(-self._bucket.due_in_ms(now_us=now_us) // 1_000)
            raise problem("rate-limited", "too many queries", headers={"Retry-After": str(after_s)})
        self._bucket.take(1 + author_count // AUTHORS_PER_TOKEN, now_us=now_us)
