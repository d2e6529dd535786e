"""How dispatcher and engines reach each other, and the pair for one process.

    Dispatcher  DispatcherLink  <─── Joined, Said, Left ───  EngineLink  Engine
                                ───── Frame, Stop ────────>

A link is a live connection and nothing more: what was sent and not answered when it breaks is gone. The leases
that travel with the frames make that harmless. Messages of one engine arrive in order.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

import msgspec

from gristmill.domain.errors import Unavailable
from gristmill.domain.frame import EngineHello, FromEngine, ToEngine

__all__ = ["DispatcherLink", "EngineLink", "Joined", "Left", "LinkEvent", "LocalLink", "Said"]


class Joined(msgspec.Struct, frozen=True):
    """An engine has connected and said hello; `hello.owner` names it from now on."""

    hello: EngineHello


class Said(msgspec.Struct, frozen=True):
    """An engine has sent a message."""

    engine: str
    message: FromEngine


class Left(msgspec.Struct, frozen=True):
    """An engine's connection has ended. Nothing more comes from it."""

    engine: str


LinkEvent = Joined | Said | Left


class DispatcherLink(Protocol):
    """The dispatcher's side."""

    async def start(self) -> None:
        """Take connections from now on."""
        ...

    async def receive(self) -> LinkEvent:
        """Wait for the next event of any engine."""
        ...

    async def send(self, engine: str, message: ToEngine) -> None:
        """Hand a message to an engine; waits while the engine is slow to take it.

        Raises:
            Unavailable: the engine is not connected; its `Left` is on its way.
        """
        ...

    async def close(self) -> None:
        """End every connection; safe twice."""
        ...


class EngineLink(Protocol):
    """An engine's side."""

    async def connect(self, hello: EngineHello) -> None:
        """Connect and say hello; waits with back-off until there is a dispatcher."""
        ...

    async def receive(self) -> ToEngine | None:
        """Wait for the next message; None when the connection has ended: drop what came over it, connect again."""
        ...

    async def send(self, message: FromEngine) -> None:
        """Hand a message to the dispatcher; dropped without a word when the connection has ended."""
        ...

    async def close(self) -> None:
        """End the connection; safe twice."""
        ...


class LocalLink:
    """Dispatcher's side of links within one process; `engine_side()` makes the other end. Nothing is encoded."""

    def __init__(self) -> None:
        self._events: asyncio.Queue[LinkEvent] = asyncio.Queue()
        self._engines: dict[str, _LocalEngineSide] = {}

    def engine_side(self) -> EngineLink:
        """Return a new unconnected engine's side."""
        return _LocalEngineSide(self._events, self._engines)

    async def start(self) -> None:
        """Nothing to open."""

    async def receive(self) -> LinkEvent:
        return await self._events.get()

    async def send(self, engine: str, message: ToEngine) -> None:
        side = self._engines.get(engine)
        if side is None:
            raise Unavailable("engine is not connected", value=engine)
        side.inbox.put_nowait(message)

    async def close(self) -> None:
        for side in list(self._engines.values()):
            await side.close()


class _LocalEngineSide:
    # The queues need no bound of their own: max_in_flight bounds what is in them.
    def __init__(self, events: asyncio.Queue[LinkEvent], engines: dict[str, _LocalEngineSide]) -> None:
        self.inbox: asyncio.Queue[ToEngine | None] = asyncio.Queue()
        self._events = events
        self._engines = engines
        self._owner: str | None = None

    async def connect(self, hello: EngineHello) -> None:
        self.inbox = asyncio.Queue()
        self._owner = hello.owner
        self._engines[hello.owner] = self
        self._events.put_nowait(Joined(hello))

    async def receive(self) -> ToEngine | None:
        return await self.inbox.get()

    async def send(self, message: FromEngine) -> None:
        if self._owner is not None:
            self._events.put_nowait(Said(self._owner, message))

    async def close(self) -> None:
        if self._owner is None:
            return
        del self._engines[self._owner]
        self._events.put_nowait(Left(self._owner))
        self.inbox.put_nowait(None)
        self._owner = None
