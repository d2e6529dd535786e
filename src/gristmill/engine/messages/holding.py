"""Which process works on a topic, where the log would hand records of one key to several.

A mark in the cache names the holder; it is renewed every third of its life, and relied upon for a part of it only: a
process that was frozen knows by its own clock that somebody else may have taken the topic meanwhile.
"""

from __future__ import annotations

import structlog

from gristmill.ports.cache import Cache
from gristmill.ports.clock import Clock

__all__ = ["TopicHold"]

RENEWALS_PER_HOLD = 3
SURE_SHARE = 0.8
"""Part of its life for which a mark is relied upon: a renewal takes time, and clocks differ."""

_log = structlog.get_logger()


class TopicHold:
    """The hold of one process on one topic.

    Args:
        ttl_ms: after which the mark of a process that died is nobody's.
    """

    def __init__(self, cache: Cache, clock: Clock, topic: str, *, owner: str, ttl_ms: int) -> None:
        self._cache = cache
        self._clock = clock
        self._key = f"messages-topic:{topic}"
        self._owner = owner
        self._ttl_ms = ttl_ms
        self._sure_until_ms = 0

    def is_sure(self) -> bool:
        """Whether nobody else can have taken the topic by now."""
        return self._now_ms() < self._sure_until_ms

    async def take(self) -> None:
        """Return once the topic is ours; waits for whoever holds it."""
        while True:
            asked_at_ms = self._now_ms()
            try:
                live = await self._cache.put_if_absent(self._key, self._owner, ttl_ms=self._ttl_ms)
            except Exception as error:
                _log.warning("topic cannot be asked for", key=self._key, error=repr(error))
            else:
                if live in (None, self._owner):
                    self._note(asked_at_ms)
                    return
            await self._pause()

    async def keep(self) -> None:
        """Renew; return when the topic is no longer ours, or cannot be known to be."""
        failures = 0
        while failures < RENEWALS_PER_HOLD:
            await self._pause()
            asked_at_ms = self._now_ms()
            try:
                if not await self._cache.renew(self._key, value=self._owner, ttl_ms=self._ttl_ms):
                    break
                self._note(asked_at_ms)
                failures = 0
            except Exception as error:
                failures += 1
                _log.warning("hold on a topic cannot be renewed", key=self._key, error=repr(error))
        self._sure_until_ms = 0

    async def leave(self) -> None:
        """Give the topic to whoever waits for it."""
        self._sure_until_ms = 0
        try:
            await self._cache.delete(self._key, value=self._owner)
        except Exception as error:
            _log.warning("hold on a topic stays until it runs out", key=self._key, error=repr(error))

    def _note(self, asked_at_ms: int) -> None:
        self._sure_until_ms = asked_at_ms + round(self._ttl_ms * SURE_SHARE)

    def _now_ms(self) -> int:
        return self._clock.monotonic_us() // 1_000

    async def _pause(self) -> None:
        await self._clock.sleep_ms(max(1, self._ttl_ms // RENEWALS_PER_HOLD))
