"""An engine with the test in the dispatcher's place, and plans to serve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec

from gristmill import Item, Join, Plan, Role, cell, task
from gristmill.domain.frame import EngineHello, Frame, FrameDone, RecordEnded
from gristmill.domain.log import Delivery
from gristmill.engine.link import Joined, LocalLink, Said
from gristmill.plans.plan import Generator
from gristmill.plans.resources import RunScope
from gristmill.ports.clock import Clock
from tests.dispatching import World

NOW = Annotated[Clock, Role("time")]


@cell("echo")
class Echo(msgspec.Struct, frozen=True):
    text: str


@cell("odd")
class Odd(msgspec.Struct, frozen=True):
    value: Any


ENDS: list[tuple[str, bool]] = []


@task
def echo(item: Item) -> Echo:
    return Echo(item.text)


@task(attempts=1)
def tell(item: Item, scope: RunScope) -> Echo:
    async def note(is_success: bool) -> None:
        ENDS.append((item.text, is_success))
        if item.text == "broken end":
            raise OSError("callback is broken")

    scope.on_end(note)
    if item.text == "bad":
        raise ValueError("the text is bad")
    return Echo(item.text)


@task(attempts=1, timeout_ms=1_000_000)
async def slow(item: Item, clock: NOW) -> Echo:
    await clock.sleep_ms(1_000)
    if item.text == "bad":
        raise ValueError("slow and bad")
    return Echo(item.text)


@task(attempts=1)
def odd(item: Item) -> Odd:
    return Odd(object() if item.text == "odd" else 1)


@cell("grouping")
class Grouping(msgspec.Struct, frozen=True):
    contributions: tuple[Join, ...]


@task
def group(item: Item) -> Grouping:
    return Grouping((Join("words", (item.text,), "duplicate", "same text as {leader}"),))


ALIKE = Plan("alike", tasks=[group])
ECHO, TELL, SLOW = Plan("echo", tasks=[echo]), Plan("tell", tasks=[tell]), Plan("slow", tasks=[slow])
ODD = Plan("odd", tasks=[odd])


class Bench:
    """An engine with the test in the dispatcher's place."""

    def __init__(self, *plans: Plan, **options: Any) -> None:
        self.generator = Generator(type="G", topic="posts", plans=tuple(plan.key for plan in plans))
        self.world = World(plans, [self.generator], **options)
        self.engine, self.log, self.state = self.world.engines[0], self.world.log, self.world.state
        self.link: LocalLink = self.world.link
        self.frame_id = 0

    async def start(self) -> None:
        await self.engine.start()
        assert await self.link.receive() == Joined(EngineHello("engine-0", 512))

    async def claim(self, topic: str = "posts") -> list[Delivery]:
        return await self.log.claim(topic, "G", owner="engine-0", limit=100, lease_ms=10**7)

    async def send(self, deliveries: Sequence[Delivery]) -> None:
        self.frame_id += 1
        await self.link.send("engine-0", Frame(self.frame_id, "G", tuple(deliveries)))

    async def receive(self, count: int) -> list[RecordEnded]:
        """Return the next `count` endings, in whatever parts they come."""
        endings: list[RecordEnded] = []
        while len(endings) < count:
            event = await self.link.receive()
            assert isinstance(event, Said)
            assert isinstance(event.message, FrameDone)
            endings += event.message.ended
        return endings

    async def run(self, *texts: str) -> list[RecordEnded]:
        await self.world.append("posts", *texts)
        deliveries = await self.claim()
        await self.send(deliveries)
        return await self.receive(len(deliveries))
