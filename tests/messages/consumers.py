"""Consumers of routed records that can be killed, and plans that remember what they were told."""

from __future__ import annotations

import asyncio
import random
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from itertools import count
from typing import Any, cast

from prometheus_client import CollectorRegistry

from gristmill.adapters.clock import SystemClock, SystemRandom
from gristmill.domain.errors import Unavailable
from gristmill.domain.log import Lag
from gristmill.engine.core.cycle import Cycle
from gristmill.engine.messages.calling import Jump
from gristmill.engine.messages.core.envelope import Envelope
from gristmill.engine.messages.core.fan_out import Jumped
from gristmill.engine.messages.core.routes import Route, Routes, RoutingTable
from gristmill.engine.messages.metrics import MessageMetrics
from gristmill.engine.messages.sending import MessageSender
from gristmill.engine.messages.service import GROUP, MessageService
from gristmill.engine.messages.settings import MessageSettings
from gristmill.engine.runner import RunnerMetrics
from gristmill.ports.cache import Cache
from gristmill.ports.log import KeyOrder, Log

LOOK_AGAIN_S = 0.05
QUICK = MessageSettings(
    urgent_workers=8,
    normal_workers=16,
    bulk_workers=2,
    lease_ms=1_000,
    hold_ms=450,
    cycle=Cycle(base_ms=20, top_ms=160),
    drain_ms=0,
)

_numbers = count(1)


@dataclass
class Ground:
    """What consumers of one backend stand on.

    Attributes:
        open: returns log and cache of one more process.
        close: lets go of a log that `open` gave.
    """

    open: Callable[[], Awaitable[tuple[Log, Cache]]]
    close: Callable[[Log], Awaitable[None]]


@dataclass
class Told:
    """A plan that applies each record once by its id, and what it was told."""

    failure_share: float = 0.0
    seed: int = 1
    applied: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    calls: list[Envelope] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._ids: set[str] = set()

    def has_applied(self, count: int) -> bool:
        """Whether so many records were applied."""
        return len(self._ids) >= count

    async def jump(self, envelope: Envelope) -> Jumped:
        self.calls.append(envelope)
        await asyncio.sleep(0)
        if self._random.random() < self.failure_share:
            raise RuntimeError("no luck")
        if envelope.id not in self._ids:
            self._ids.add(envelope.id)
            self.applied[envelope.key].append(envelope.id)
        return "done"


class Killed:
    """A port of a process that can be killed: from then on nothing reaches what is behind, and nothing is ours."""

    def __init__(self, behind: Log | Cache) -> None:
        self._behind = behind
        self.is_killed = False
        self.called: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._behind, name)
        if not asyncio.iscoroutinefunction(found):
            return found

        async def call(*arguments: Any, **named: Any) -> Any:
            self.called.add(name)
            answer = None if self.is_killed else await found(*arguments, **named)
            return self._answer(name, arguments, answer)

        return call

    def _answer(self, name: str, arguments: tuple[Any, ...], answer: Any) -> Any:
        """Return the answer, or what somebody gets whom nobody answers any more."""
        return _answer_of_nobody(name, arguments) if self.is_killed else answer


def _answer_of_nobody(name: str, arguments: tuple[Any, ...]) -> Any:
    match name:
        case "accept" | "release" | "renew":
            return [False] * len(arguments[0])
        case "reject":
            return "lost"
        case "put_if_absent" | "put" | "get":
            raise Unavailable("cache of a process that was killed")
        case "lag":
            return Lag(0, 0, 0, 0, 0)
        case "has_open_before":
            return True
        case "claim":
            return []
        case _:
            return None


class Consumer:
    """One process that works on routed records."""

    def __init__(
        self,
        log: Log,
        cache: Cache,
        table: RoutingTable,
        jumps: dict[str, Jump],
        *,
        metrics: MessageMetrics,
        settings: MessageSettings = QUICK,
    ) -> None:
        self.log = log
        self._ports = [Killed(log), Killed(cache)]
        self._until = asyncio.Event()
        own_log, own_cache = self._ports
        service = MessageService(
            cast(Log, own_log),
            cast(Cache, own_cache),
            SystemClock(),
            SystemRandom(),
            table=table,
            jumps=jumps,
            owner=f"consumer-{next(_numbers)}",
            order=None if "key_order" in log.capabilities else cast(KeyOrder, own_log),
            settings=settings,
            metrics=metrics,
            runner_metrics=RunnerMetrics(CollectorRegistry()),
        )
        self._task = asyncio.create_task(service.run(self._until))

    @property
    def has_claimed(self) -> bool:
        """Whether it has begun to work."""
        return "claim" in self._ports[0].called

    async def kill(self) -> None:
        """End it without a word to log or cache."""
        for port in self._ports:
            port.is_killed = True
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def stop(self) -> None:
        """End it in order."""
        self._until.set()
        await self._task


def table_of(*routes: Route) -> RoutingTable:
    return RoutingTable([Routes("test", routes)])


def route(type_: str, *plans: str, tier: Any = "normal", **more: Any) -> Route:
    return Route(type_, "test", tier, plans or ("plan",), **more)


def sender_of(log: Log, table: RoutingTable) -> MessageSender:
    return MessageSender(log, table, SystemClock(), metrics=fresh_metrics())


def fresh_metrics() -> MessageMetrics:
    return MessageMetrics(CollectorRegistry())


def ended(metrics: MessageMetrics, type_: str, outcome: str) -> int:
    return int(metrics.ended.labels(type_, outcome)._value.get())


async def until(is_so: Callable[[], bool], *, within_s: float = 60.0) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + within_s
    while not is_so():
        assert time.monotonic() < deadline
        await asyncio.sleep(LOOK_AGAIN_S / 5)


async def until_done(log: Log, topics: Iterable[str], *, within_s: float) -> None:
    """Wait until the group is done with all that its topics hold."""
    deadline = time.monotonic() + within_s
    for topic in topics:
        while True:
            lag = await log.lag(topic, GROUP)
            if lag.undelivered + lag.in_flight + lag.waiting == 0:
                break
            assert time.monotonic() < deadline, f"{topic} is not done: {lag}"
            await asyncio.sleep(LOOK_AGAIN_S)
