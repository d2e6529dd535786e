"""The plans of a simulation, and records whose text says how the tasks behave on them."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Protocol, cast

import msgspec

from gristmill import Item, Plan, Role, cell, task
from gristmill.domain.intake import MappedRecord, Violations
from gristmill.domain.log import Delivery
from gristmill.plans.compile import compile_plan
from gristmill.plans.plan import Generator
from gristmill.plans.registry import RegisteredPlan
from gristmill.plans.resources import RunScope
from gristmill.ports.clock import Clock
from gristmill.testing.simulate.machine.loop import PROCESS

__all__ = ["GENERATORS", "compiled_plans", "decode_post", "Seen", "look", "ponder"]

WORK_MS = 700
HANG_MS = 100_000


class _Mortal(Protocol):
    def die(self) -> None: ...


@cell("seen")
class Seen(msgspec.Struct, frozen=True):
    text: str


@task(attempts=1)
def look(item: Item, scope: RunScope) -> Seen:
    number, _, behaviour = item.text.split(":")
    if behaviour == "poison" and int(number) % 2 == 0:
        cast(_Mortal, PROCESS.get()).die()
    if behaviour == "bad" or (behaviour == "flaky" and scope.attempt == 1):
        raise ValueError(behaviour)
    return Seen(item.text)


@task(attempts=1, timeout_ms=1_000_000)
async def ponder(item: Item, clock: Annotated[Clock, Role("time")], scope: RunScope) -> Seen:
    number, _, behaviour = item.text.split(":")
    if behaviour == "slow":
        await clock.sleep_ms(WORK_MS * (1 + int(number) % 4))
    if behaviour == "poison":
        await clock.sleep_ms(1)
        cast(_Mortal, PROCESS.get()).die()
        await clock.sleep_ms(HANG_MS)
    if behaviour == "hang" and scope.attempt < 3:
        await clock.sleep_ms(HANG_MS)
    return Seen(item.text)


QUICK, SLOW = Plan("quick", tasks=[look]), Plan("slow", tasks=[ponder])
GENERATORS = (
    Generator(type="one", topic="one", plans=("quick",), source="posts"),
    Generator(type="two", topic="two", plans=("quick", "slow"), source="posts"),
)


@cache
def compiled_plans() -> dict[str, RegisteredPlan]:
    """Return the plans by key."""
    return {plan.key: RegisteredPlan(compile_plan(plan), "simulation", "shadow") for plan in (QUICK, SLOW)}


def decode_post(delivery: Delivery, generator: Generator) -> MappedRecord | Violations:
    """Map a record: its text is `number:input id:behaviour`."""
    text = delivery.value.decode()
    _, input_id, behaviour = text.split(":")
    if behaviour == "broken":
        return Violations("broken", ("record: says so",))
    return MappedRecord(input_id, generator.kind, "posts", text)
