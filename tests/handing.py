"""A dispatcher with the test in the engines' place, over a log that may be down."""

from __future__ import annotations

from typing import Any

import msgspec

from gristmill import Item, Plan, cell, task
from gristmill.domain.errors import Unavailable
from gristmill.domain.frame import EngineHello, Frame, FrameDone, RecordEnded
from gristmill.domain.log import Delivery, Lease
from gristmill.engine.link import EngineLink
from gristmill.engine.settings import DispatcherSettings
from gristmill.plans.plan import Generator
from tests.dispatching import World


@cell("echo")
class Echo(msgspec.Struct, frozen=True):
    text: str


@task
def echo(item: Item) -> Echo:
    return Echo(item.text)


ECHO = Plan("echo", tasks=[echo])


class FlakyLog:
    """A log that is down for the next calls of the verbs in `down`."""

    def __init__(self, log: Any) -> None:
        self._log = log
        self.down: dict[str, int] = {}
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Any:
        verb = getattr(self._log, name)
        if name not in ("accept", "release", "reject", "renew", "reclaim", "wait"):
            return verb

        async def call(*args: Any, **options: Any) -> Any:
            self.calls.append(name)
            if self.down.get(name):
                self.down[name] -= 1
                raise Unavailable("log is down")
            return await verb(*args, **options)

        return call


class Hand:
    """A dispatcher with the test in the engines' place."""

    def __init__(self, *generators: Generator, log: Any = None, **settings: Any) -> None:
        self.generators = generators or (Generator(type="G", topic="posts", plans=("echo",)),)
        plain = World([ECHO], self.generators, engine_count=0)
        self.log: Any = FlakyLog(plain.store.log)
        options = {"max_in_flight": 100} | settings
        self.world = World(
            [ECHO],
            self.generators,
            clock=plain.clock,
            store=plain.store,
            log=self.log,
            dispatcher=DispatcherSettings(**options),
            engine_count=0,
        )
        self.dispatcher, self.clock, self.link = self.world.dispatcher, self.world.clock, self.world.link

    async def join(self, owner: str = "e1", *, capacity: int = 100) -> EngineLink:
        side = self.link.engine_side()
        await side.connect(EngineHello(owner, capacity))
        return side

    async def receive(self, side: EngineLink) -> Frame:
        message = await side.receive()
        assert isinstance(message, Frame)
        return message

    async def report(self, side: EngineLink, *endings: RecordEnded) -> None:
        await side.send(FrameDone(1, endings))
        await self.clock.sleep_ms(5)

    async def claimable(self, topic: str = "posts") -> list[Delivery]:
        """Claim what another owner of the group could claim now."""
        found: list[Delivery] = await self.log.claim(topic, "G", owner="other", limit=100, lease_ms=1_000)
        return found


def leases_of(frame: Frame) -> list[Lease]:
    return [delivery.lease for delivery in frame.deliveries]
