"""Links between simulated processes: messages take a while, arrive in order, and a cut may swallow some."""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Callable
from contextvars import Context, copy_context
from typing import Any

from gristmill.domain.errors import Unavailable
from gristmill.domain.frame import EngineHello, Frame, FrameDone, FromEngine, ToEngine
from gristmill.engine.link import Joined, Left, LinkEvent, Said
from gristmill.testing.simulate.machine.loop import PROCESS, US_PER_S, SimulationLoop

__all__ = ["Address", "Watcher"]

LATENCY_US_MAX = 2_000
CONNECT_US = 20_000
"""Between two tries to reach a dispatcher that is not there."""

Watcher = Callable[[Frame | FrameDone], None]
"""Is shown each frame as a dispatcher sends it, and each report as an engine sends it."""


class Address:
    """Where one dispatcher after the other listens, and engines connect."""

    def __init__(self, loop: SimulationLoop, chance: random.Random, watch: Watcher) -> None:
        self.loop = loop
        self.chance = chance
        self.watch = watch
        self.listener: _DispatcherSide | None = None
        self.connections: list[_Connection] = []
        context = copy_context()
        context.run(PROCESS.set, None)
        self.outside: Context = context
        """What the network does belongs to no process."""

    def dispatcher_side(self) -> _DispatcherSide:
        """Return the link of a new dispatcher."""
        return _DispatcherSide(self)

    def engine_side(self) -> _EngineSide:
        """Return the link of a new engine."""
        return _EngineSide(self)

    def cut(self, *, engine: str = "") -> None:
        """End the connections of an engine, or all of them; what is on its way may be lost."""
        for connection in [each for each in self.connections if engine in ("", each.owner)]:
            connection.end(is_lossy=self.chance.random() < 0.5)


class _Direction:
    """Delivers in order, each message after a time of its own."""

    def __init__(self, address: Address, deliver: Callable[[Any], None]) -> None:
        self._address = address
        self._deliver = deliver
        self.on_way: deque[Any] = deque()

    def post(self, message: object) -> None:
        address = self._address
        self.on_way.append(message)
        when_us = address.loop.now_us + address.chance.randrange(1, LATENCY_US_MAX)
        address.loop.call_at(when_us / US_PER_S, self._arrive, context=address.outside)

    def _arrive(self) -> None:
        # Not the message of this very call: whichever is the oldest comes first.
        if self.on_way:
            self._deliver(self.on_way.popleft())


class _Connection:
    def __init__(self, address: Address, owner: str, dispatcher: _DispatcherSide) -> None:
        self.owner = owner
        self.inbox: asyncio.Queue[ToEngine | None] = asyncio.Queue()
        self.is_open = True
        self._address = address
        self._dispatcher = dispatcher
        self.to_engine = _Direction(address, self.inbox.put_nowait)
        self.to_dispatcher = _Direction(address, self._reach_dispatcher)
        address.connections.append(self)

    def end(self, *, is_lossy: bool = False) -> None:
        if not self.is_open:
            return
        self.is_open = False
        self._address.connections.remove(self)
        for direction in (self.to_engine, self.to_dispatcher):
            if is_lossy:
                direction.on_way.clear()
        self.to_engine.post(None)
        self.to_dispatcher.post(Left(self.owner))

    def _reach_dispatcher(self, event: LinkEvent) -> None:
        self._dispatcher.take(self, event)


class _DispatcherSide:
    def __init__(self, address: Address) -> None:
        self._address = address
        self._events: asyncio.Queue[LinkEvent] = asyncio.Queue()
        self._engines: dict[str, _Connection] = {}

    async def start(self) -> None:
        self._address.listener = self

    async def receive(self) -> LinkEvent:
        return await self._events.get()

    async def send(self, engine: str, message: ToEngine) -> None:
        await asyncio.sleep(0)
        connection = self._engines.get(engine)
        if connection is None:
            raise Unavailable("engine is not connected", value=engine)
        if isinstance(message, Frame):
            self._address.watch(message)
        if connection.is_open:
            connection.to_engine.post(message)

    async def close(self) -> None:
        self.vanish()

    def vanish(self) -> None:
        if self._address.listener is self:
            self._address.listener = None
        for connection in list(self._engines.values()):
            connection.end()

    def take(self, connection: _Connection, event: LinkEvent) -> None:
        """Take what has arrived over a connection."""
        known = self._engines.get(connection.owner)
        match event:
            case Joined():
                if known is not None:
                    # The end of the old connection has not come yet: as the socket does, refuse the new one.
                    connection.end(is_lossy=True)
                    return
                self._engines[connection.owner] = connection
            case Left():
                if known is not connection:
                    return
                del self._engines[connection.owner]
        if known is connection or isinstance(event, Joined):
            self._events.put_nowait(event)


class _EngineSide:
    def __init__(self, address: Address) -> None:
        self._address = address
        self._connection: _Connection | None = None

    async def connect(self, hello: EngineHello) -> None:
        await self.close()
        while (listener := self._address.listener) is None:
            await self._address.loop.pause_us(CONNECT_US)
        self._connection = _Connection(self._address, hello.owner, listener)
        self._connection.to_dispatcher.post(Joined(hello))

    async def receive(self) -> ToEngine | None:
        return None if self._connection is None else await self._connection.inbox.get()

    async def send(self, message: FromEngine) -> None:
        await asyncio.sleep(0)
        connection = self._connection
        if connection is None:
            return
        if isinstance(message, FrameDone):
            self._address.watch(message)
        if connection.is_open:
            connection.to_dispatcher.post(Said(connection.owner, message))

    async def close(self) -> None:
        if self._connection is not None:
            self._connection.end()
            self._connection = None
