"""Dispatchers and engines as simulated processes: made anew after each death, under a new owner name."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache
from typing import Any, Literal

import msgspec
from prometheus_client import CollectorRegistry

from gristmill.adapters.clock import SeededRandom
from gristmill.engine.core.recovery import RecoveryPolicy
from gristmill.engine.dispatcher import Dispatcher
from gristmill.engine.metrics import DispatcherMetrics, EngineMetrics
from gristmill.engine.service import Engine
from gristmill.engine.settings import DispatcherSettings, EngineSettings
from gristmill.intake.ids import SegmentIds
from gristmill.testing.simulate.machine.clock import ProcessClock
from gristmill.testing.simulate.machine.link import Address
from gristmill.testing.simulate.machine.loop import Process
from gristmill.testing.simulate.posts import GENERATORS, compiled_plans, decode_post

__all__ = [
    "CONCURRENCY",
    "DELIVERIES_MAX",
    "LEASE_MS",
    "Member",
    "MemberMarks",
    "Role",
    "Surroundings",
    "make_dispatcher",
    "make_engine",
]

LEASE_MS = 2_000
DELIVERIES_MAX = 3
TIMEOUT_MS = 3_000
CAPACITY = 8
CONCURRENCY = 4
RECOVERY = RecoveryPolicy(delay_ms=500, factor=2, recoveries_max=2)


Role = Literal["dispatcher", "engine", "publisher"]


class Member(Process):
    """A dispatcher or an engine from its start to its end."""

    def __init__(
        self,
        role: Literal["dispatcher", "engine", "publisher"],
        owner: str,
        address: Address,
        on_death: Callable[[Member], None],
    ) -> None:
        super().__init__(owner)
        self.role = role
        self.owner = owner
        self.address = address
        self.marks = MemberMarks()
        self.service: Dispatcher | Engine | None = None
        self.link: Any = None
        self.is_silent = False
        """Whether it died without anybody being told."""
        self._on_death = on_death

    def die(self, *, is_silent: bool = False) -> None:
        """End at once, wherever it stands."""
        if not self.is_dead:
            self.is_dead, self.is_silent = True, is_silent
            self._on_death(self)


class MemberMarks:
    """See `engine.marks.Marks`; what is marked when its process dies can still be read."""

    def __init__(self) -> None:
        self._slots: dict[int, int] = {}
        self._slot = 0

    def set(self, offset: int) -> int:
        """Note that the record at this offset is being worked on."""
        self._slot += 1
        self._slots[self._slot] = offset
        return self._slot

    def clear(self, slot: int) -> None:
        """Take a mark back."""
        self._slots.pop(slot, None)

    def read(self) -> frozenset[int]:
        """Return what is marked."""
        return frozenset(self._slots.values())


class Surroundings(msgspec.Struct, frozen=True):
    """What a member is given."""

    log: Any
    state: Any
    clock: ProcessClock


def make_dispatcher(
    member: Member,
    around: Surroundings,
    *,
    max_in_flight: int,
    chance: random.Random,
    read_marks: Callable[[str], frozenset[int] | None],
) -> Dispatcher:
    """Return the service of a dispatcher process."""
    member.link = member.address.dispatcher_side()
    return Dispatcher(
        log=around.log,
        generators=GENERATORS,
        link=member.link,
        clock=around.clock,
        random=SeededRandom(chance.randrange(1 << 30)),
        owner=member.owner,
        settings=DispatcherSettings(
            max_in_flight=max_in_flight,
            frame_records_max=4,
            lease_ms=LEASE_MS,
            task_timeout_ms=TIMEOUT_MS,
            monitor_interval_ms=1_000,
            deliveries_max=DELIVERIES_MAX,
            recovery=RECOVERY,
        ),
        metrics=_metrics()[0],
        read_marks=read_marks,
    )


def make_engine(member: Member, around: Surroundings) -> Engine:
    """Return the service of an engine process."""
    member.link = member.address.engine_side()
    return Engine(
        link=member.link,
        state=around.state,
        log=around.log,
        clock=around.clock,
        ids=SegmentIds(around.state, around.clock),
        owner=member.owner,
        generators=GENERATORS,
        plans=compiled_plans(),
        resources={},
        decode=decode_post,
        settings=EngineSettings(capacity=CAPACITY, max_concurrency=CONCURRENCY, task_timeout_ms=TIMEOUT_MS),
        metrics=_metrics()[1],
        marks=member.marks,
    )


@cache
def _metrics() -> tuple[DispatcherMetrics, EngineMetrics]:
    # For all: nothing depends on what they count, and making them takes longer than a simulation.
    registry = CollectorRegistry()
    return DispatcherMetrics(registry), EngineMetrics(registry)
