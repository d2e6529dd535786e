"""The cache port on a Redis server: marks that processes of several hosts share."""

from __future__ import annotations

from typing import Any

from gristmill.adapters.redis.server import RedisServer
from gristmill.ports.clock import Clock

__all__ = ["RedisCache"]


class RedisCache:
    """See `ports.cache.Cache`. Losing the server's data loses all marks, named leases among them.

    Args:
        is_server_time: whether the server's clock decides over ends; tests hand in their own.
    """

    def __init__(self, server: RedisServer, clock: Clock, *, is_server_time: bool = True) -> None:
        self._server = server
        self._clock = clock
        self._is_server_time = is_server_time

    async def put_if_absent(self, key: str, value: str, *, ttl_ms: int) -> str | None:
        """Store the value unless a live one exists; return the live one, or None when ours was stored.

        Raises:
            OutcomeUnknown: it may be stored; ask again, and take one's own value for success.
        """
        # Repeated by itself, a call would find its own value and take it for somebody else's.
        live = await self._run("put_if_absent", key, value, ttl_ms, is_safe=False)
        return None if live is None else live.decode()

    async def put(self, key: str, value: str, *, ttl_ms: int) -> None:
        """Store the value, replacing any other."""
        await self._run("put", key, value, ttl_ms)

    async def get(self, key: str) -> str | None:
        """Return the live value or None."""
        live = await self._run("get", key)
        return None if live is None else live.decode()

    async def renew(self, key: str, *, value: str, ttl_ms: int) -> bool:
        """Let a live key end `ttl_ms` from now, while `value` is what it holds; return whether it is."""
        return bool(await self._run("renew", key, value, ttl_ms))

    async def delete(self, key: str, *, value: str | None = None) -> bool:
        """Remove the key, with `value` only while that is what it holds; return whether it was removed."""
        if value is None:
            return bool(await self._run("delete", key))
        return bool(await self._run("delete_if", key, value))

    async def _run(self, verb: str, key: str, value: str = "", ttl_ms: int = 0, *, is_safe: bool = True) -> Any:
        now = "" if self._is_server_time else str(self._clock.now_ms())
        names = [f"{self._server.target.prefix}mark:{key}"]
        return await self._server.run("cache", names, (verb, now, value, ttl_ms), is_safe=is_safe)
