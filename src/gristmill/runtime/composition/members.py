"""The two services of a group as `main` knows them, whether they live in its process or in one of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

import structlog

from gristmill.adapters.media import ChildImageReader
from gristmill.domain.errors import Unavailable
from gristmill.domain.frame import Frame, FrameDone, ToEngine
from gristmill.engine.dispatch.orders import LiveOrders
from gristmill.engine.dispatcher import Dispatcher
from gristmill.engine.link import DispatcherLink, Left, LinkEvent, Said
from gristmill.engine.service import Engine
from gristmill.intake.metrics import IntakeMetrics
from gristmill.intake.sources.catalogue import LiveSources
from gristmill.ports.clock import Clock
from gristmill.runtime.composition.stores import Store
from gristmill.runtime.group.health_core import Vitals
from gristmill.runtime.lag.losses import LossWatch

__all__ = ["DispatcherMember", "EngineMember", "Member", "TimedLink", "stop_all"]

_log = structlog.get_logger()


class Member(Protocol):
    """A service that main starts, watches and stops."""

    async def start(self) -> None:
        """Begin to work."""
        ...

    async def join(self) -> None:
        """Return when it has stopped; raise what ended it otherwise."""
        ...

    async def drain(self) -> None:
        """Take nothing new and return when nothing is under way."""
        ...

    async def stop(self, *, grace_ms: int) -> None:
        """Stop, and close what it holds."""
        ...

    def vitals(self) -> Vitals:
        """Say how it is."""
        ...


class DispatcherMember:
    """The dispatcher with the store that it claims from, and what people have ordered about its generators."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        store: Store,
        link: TimedLink,
        *,
        owner: str,
        orders: LiveOrders,
        losses: LossWatch,
    ) -> None:
        self._dispatcher = dispatcher
        self._store = store
        self._link = link
        self._owner = owner
        self._orders = orders
        self._losses = losses
        self._looking: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        # What was paused before a restart stays so: nothing is claimed before that is known.
        await self._orders.refresh()
        self._looking.append(asyncio.create_task(self._orders.run(self._dispatcher.note_orders), name="orders"))
        self._looking.append(asyncio.create_task(self._losses.run(), name="losses"))
        # What a group that was killed had leased is free at once, not at the first look of the monitor.
        try:
            await self._store.log.reclaim(me=self._owner)
        except Unavailable as error:
            _log.warning("dead owners cannot be looked for", error=str(error))
        await self._dispatcher.start()

    async def join(self) -> None:
        await self._dispatcher.join()

    async def drain(self) -> None:
        await self._dispatcher.drain()

    async def stop(self, *, grace_ms: int) -> None:
        await self._dispatcher.stop(grace_ms=grace_ms)
        for looking in self._looking:
            looking.cancel()
        await self._store.close()

    def vitals(self) -> Vitals:
        count = self._dispatcher.in_flight_count
        return Vitals(count, self._link.result_age_ms() if count else 0, self._dispatcher.generators_up)


class EngineMember:
    """An engine with its store, the Sources that it maps by, and the processes that decode its pictures."""

    def __init__(
        self, engine: Engine, store: Store, *, sources: LiveSources, readers: Sequence[ChildImageReader] = ()
    ) -> None:
        self._engine = engine
        self._store = store
        self._readers = tuple(readers)
        self._sources = sources
        self._metrics = IntakeMetrics()
        self._looking: asyncio.Task[None] | None = None

    async def start(self) -> None:
        await self._sources.refresh()
        self._looking = asyncio.create_task(self._sources.run(self._metrics), name="sources")
        await self._engine.start()

    async def join(self) -> None:
        await self._engine.join()

    async def drain(self) -> None:
        """Nothing to do: an engine takes what the dispatcher sends."""

    async def stop(self, *, grace_ms: int) -> None:
        await self._engine.stop(grace_ms=grace_ms)
        if self._looking is not None:
            self._looking.cancel()
        self._sources.hand_over(self._metrics)
        for reader in self._readers:
            await reader.close()
        await self._store.close()

    def vitals(self) -> Vitals:
        return Vitals(in_flight=self._engine.open_count)


class TimedLink:
    """A dispatcher's link that knows how long it has been waiting for a result."""

    def __init__(self, link: DispatcherLink, clock: Clock) -> None:
        self._link = link
        self._clock = clock
        self._waiting_count = 0
        self._since_us = clock.monotonic_us()

    def result_age_ms(self) -> int:
        """Return milliseconds since the last result, or since a frame was sent while none was out."""
        return (self._clock.monotonic_us() - self._since_us) // 1000

    async def start(self) -> None:
        await self._link.start()

    async def receive(self) -> LinkEvent:
        event = await self._link.receive()
        if isinstance(event, Said) and isinstance(event.message, FrameDone):
            self._waiting_count = max(0, self._waiting_count - len(event.message.ended))
            self._since_us = self._clock.monotonic_us()
        elif isinstance(event, Left):
            # What it had never comes back over this link.
            self._waiting_count = 0
        return event

    async def send(self, engine: str, message: ToEngine) -> None:
        if isinstance(message, Frame):
            if not self._waiting_count:
                self._since_us = self._clock.monotonic_us()
            self._waiting_count += len(message.deliveries)
        await self._link.send(engine, message)

    async def close(self) -> None:
        await self._link.close()


async def stop_all(members: list[Member], *, grace_ms: int) -> None:
    """Stop members side by side; one that cannot be stopped cleanly does not keep the others."""
    outcomes = await asyncio.gather(*(member.stop(grace_ms=grace_ms) for member in members), return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, Exception):
            _log.error("service did not stop cleanly", error=repr(outcome))
