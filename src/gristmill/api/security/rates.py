"""How many requests each token may make."""

from __future__ import annotations

from collections import OrderedDict

from gristmill.api.problems import problem
from gristmill.engine.core.bucket import TokenBucket
from gristmill.ports.clock import Clock

__all__ = ["RequestRates"]

CALLERS_MAX = 10_000


class RequestRates:
    """A bucket of one second's worth for each token.

    Args:
        rate_per_s: requests of one token per second, 0 for any number.
    """

    def __init__(self, clock: Clock, *, rate_per_s: float = 0.0) -> None:
        self._clock = clock
        self._rate_per_s = rate_per_s
        self._buckets: OrderedDict[str, TokenBucket] = OrderedDict()

    def take(self, token_id: str) -> None:
        """Count a request.

        Raises:
            ProblemRaised: `rate-limited`, with the time after which there is room again.
        """
        if not self._rate_per_s:
            return
        now_us = self._clock.monotonic_us()
        bucket = self._buckets.get(token_id)
        if bucket is None:
            bucket = self._buckets[token_id] = TokenBucket(self._rate_per_s, now_us=now_us)
            if len(self._buckets) > CALLERS_MAX:
                self._buckets.popitem(last=False)
        if not bucket.available(now_us=now_us):
            after_s = -(-bucket.due_in_ms(now_us=now_us) // 1_000)
            raise problem("rate-limited", headers={"Retry-After": str(after_s)})
        bucket.take(1, now_us=now_us)
