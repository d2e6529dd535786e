"""Hears what is appended by other processes: one connection a process, which costs nothing while nothing happens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from redis.exceptions import RedisError

from gristmill.adapters.redis.server import RedisServer

__all__ = ["Listener"]

SILENCE_S = 2.0
"""After so long without a message the server is asked whether the connection still lives."""

ANSWER_S = 1.0
"""How long the answer is waited for. Until then an idle group takes silence for peace, and asks nothing itself."""

CANCEL_AGAIN_S = 0.1
PAUSE_S = 0.5
"""Before connecting again. Looks every second find what is missed meanwhile."""


class Listener:
    """Rings for every topic that somebody has something new for.

    Args:
        ring: gets the topic.
        ring_all: called where rings may have been missed.
    """

    def __init__(
        self, server: RedisServer, channel: str, *, ring: Callable[[str], None], ring_all: Callable[[], None]
    ) -> None:
        self._server = server
        self._channel = channel
        self._ring = ring
        self._ring_all = ring_all
        self._listening: asyncio.Task[None] | None = None
        self.is_heard = False
        """Whether a ring would be heard now."""

    def start(self) -> None:
        """Begin to listen; safe to call again."""
        if self._listening is None:
            self._listening = asyncio.create_task(self._run(), name="redis-bell")

    async def close(self) -> None:
        """Stop; safe to call twice."""
        listening, self._listening = self._listening, None
        # A client that is just connecting may swallow the first cancellation.
        while listening is not None and not listening.done():
            listening.cancel()
            await asyncio.wait([listening], timeout=CANCEL_AGAIN_S)

    async def _run(self) -> None:
        while True:
            try:
                await self._listen()
            except (RedisError, OSError):
                await asyncio.sleep(PAUSE_S)

    async def _listen(self) -> None:
        subscription = self._server.client.pubsub()
        try:
            await subscription.subscribe(self._channel)
            is_asked = False
            while True:
                message = await subscription.get_message(timeout=ANSWER_S if is_asked else SILENCE_S)
                if message is None:
                    if is_asked:
                        return
                    await subscription.ping()
                    is_asked = True
                    continue
                is_asked = False
                if message["type"] == "message":
                    self._ring(message["data"].decode())
                elif message["type"] == "subscribe":
                    self.is_heard = True
                    self._ring_all()
        finally:
            self.is_heard = False
            with suppress(RedisError, OSError):
                await subscription.aclose()
