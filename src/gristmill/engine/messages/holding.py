"""Which process works on a topic, where the log would hand records of one key to several.

A mark in the cache names the holder; it is renewed every third of its life. That only saves waiting for each other:
what order and leases promise does not depend on it.
"""

from __future__ import annotations

import structlog

from gristmill.ports.cache import Cache
from gristmill.ports.clock import Clock

__all__ = ["TopicHold"]

RENEWALS_PER_HOLD = 3

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

    async def take(self) -> None:
        """Return once the topic is ours; waits for whoever holds it."""
        while True:
            try:
                live = await self._cache.put_if_absent(self._key, self._owner, ttl_ms=self._ttl_ms)
            except Exception as error:
                _log.warning("topic cannot be asked for", key=self._key, error=repr(error))
            else:
                if live in (None, self._owner):
                    return
            await self._pause()

    async def keep(self) -> None:
        """Renew; return when the topic is no longer ours, or cannot be known to be."""
        failures = 0
        while failures < RENEWALS_PER_HOLD:
            await self._pause()
            try:
                if await self._cache.get(self._key) != self._owner:
                    return
                await self._cache.put(self._key, self._owner, ttl_ms=self._ttl_ms)
                failures = 0
            except Exception as error:
                failures += 1
                _log.warning("hold on a topic cannot be renewed", key=self._key, error=repr(error))

    async def leave(self) -> None:
        """Give the topic to whoever waits for it."""
        try:
            await self._cache.delete(self._key, value=self._owner)
        except Exception as error:
            _log.warning("hold on a topic stays until it runs out", key=self._key, error=repr(error))

    async def _pause(self) -> None:
        await self._clock.sleep_ms(max(1, self._ttl_ms // RENEWALS_PER_HOLD))
