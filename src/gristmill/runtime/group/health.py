"""Answers whether the group serves, over a Unix socket in the state folder; and asks that question."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from gristmill.domain.front.health import ServiceHealth

__all__ = ["CONTROL_SOCKET", "HealthServer", "ask_health"]

CONTROL_SOCKET = "control"
"""Name of the socket in the state folder; see `StateFolder.socket`."""

ANSWER_TIMEOUT_S = 5.0


class HealthServer:
    """Answers each connection with the health of all services, then closes it.

    Args:
        path: of the socket; one that a dead group has left is replaced.
    """

    def __init__(self, path: Path, health: Callable[[], Awaitable[list[ServiceHealth]]]) -> None:
        self._path = path
        self._health = health
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        """Answer from now on."""
        self._path.unlink(missing_ok=True)
        self._server = await asyncio.start_unix_server(self._answer, self._path)

    async def stop(self) -> None:
        """Answer no more; safe twice."""
        if self._server is not None:
            self._server.close()
            self._server = None
            self._path.unlink(missing_ok=True)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(ConnectionError):
                writer.write(msgspec.json.encode(await self._health()))
                await writer.drain()
        finally:
            writer.close()


async def ask_health(path: Path) -> list[ServiceHealth]:
    """Return the health of the group behind a socket; not serving where there is none or it does not answer."""
    try:
        async with asyncio.timeout(ANSWER_TIMEOUT_S):
            reader, writer = await asyncio.open_unix_connection(path)
            try:
                answer = await reader.read()
            finally:
                writer.close()
        return msgspec.json.decode(answer, type=list[ServiceHealth])
    except (FileNotFoundError, ConnectionError):
        return [ServiceHealth("", ("no group runs on this state folder",))]
    except (TimeoutError, msgspec.DecodeError):
        return [ServiceHealth("", ("the group does not answer",))]
