"""Marks with an end of life, in a dictionary."""

from __future__ import annotations

from gristmill.ports.clock import Clock

__all__ = ["MemoryCache"]

SWEEP_EVERY_PUTS = 1_000
"""Expired entries are swept out this often, so the dictionary stays within twice its live size plus this."""


class MemoryCache:
    """See `ports.cache.Cache`."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._entries: dict[str, tuple[str, int]] = {}
        self._puts_until_sweep = SWEEP_EVERY_PUTS

    async def put_if_absent(self, key: str, value: str, *, ttl_ms: int) -> str | None:
        """Store the value unless a live one exists; return the live one, or None when ours was stored."""
        live = await self.get(key)
        if live is None:
            await self.put(key, value, ttl_ms=ttl_ms)
        return live

    async def put(self, key: str, value: str, *, ttl_ms: int) -> None:
        """Store the value, replacing any other."""
        now_ms = self._clock.now_ms()
        self._entries[key] = (value, now_ms + ttl_ms)
        self._puts_until_sweep -= 1
        if self._puts_until_sweep == 0:
            self._entries = {name: entry for name, entry in self._entries.items() if entry[1] > now_ms}
            self._puts_until_sweep = max(SWEEP_EVERY_PUTS, len(self._entries))

    async def get(self, key: str) -> str | None:
        """Return the live value or None."""
        entry = self._entries.get(key)
        if entry is None or entry[1] <= self._clock.now_ms():
            return None
        return entry[0]

    async def renew(self, key: str, *, value: str, ttl_ms: int) -> bool:
        """Let a live key end `ttl_ms` from now, while `value` is what it holds; return whether it is."""
        is_ours = await self.get(key) == value
        if is_ours:
            self._entries[key] = (value, self._clock.now_ms() + ttl_ms)
        return is_ours

    async def delete(self, key: str, *, value: str | None = None) -> bool:
        """Remove the key, with `value` only while that is what it holds; return whether it was removed."""
        live = await self.get(key)
        if live is None or (value is not None and live != value):
            return False
        del self._entries[key]
        return True
