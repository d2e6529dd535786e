"""A whole small group in one process for tests: log, dispatcher, link and engines on a clock that jumps."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

from prometheus_client import CollectorRegistry

from gristmill import Plan
from gristmill.adapters.clock import SeededRandom
from gristmill.adapters.memory import MemoryStore
from gristmill.domain.intake import MappedRecord, Violations
from gristmill.domain.log import Delivery, NewRecord
from gristmill.domain.steering import Orders
from gristmill.engine.dispatch.settle import TerminalHook
from gristmill.engine.dispatcher import Dispatcher
from gristmill.engine.link import LocalLink
from gristmill.engine.metrics import DispatcherMetrics, EngineMetrics
from gristmill.engine.service import Engine
from gristmill.engine.settings import DispatcherSettings, EngineSettings
from gristmill.engine.work.admit import Decode
from gristmill.intake.ids import SegmentIds
from gristmill.plans.compile import compile_plan
from gristmill.plans.plan import Generator
from gristmill.plans.registry import RegisteredPlan
from gristmill.ports.clock import Clock

START_MS = 1_700_000_000_000


class FakeClock:
    """Jumps to the earliest end of a wait as soon as nothing else is left to do on the loop."""

    def __init__(self) -> None:
        self._now_us = START_MS * 1_000
        self._waits: list[tuple[int, int, asyncio.Future[None]]] = []
        self._numbers = count()
        self._is_looking = False

    def now_ms(self) -> int:
        return self._now_us // 1_000

    def monotonic_us(self) -> int:
        return self._now_us

    def monotonic_ns(self) -> int:
        return self.monotonic_us() * 1_000

    def thread_us(self) -> int:
        return self.monotonic_us()

    async def sleep_ms(self, duration_ms: int) -> None:
        loop = asyncio.get_running_loop()
        done = loop.create_future()
        heapq.heappush(self._waits, (self._now_us + duration_ms * 1_000, next(self._numbers), done))
        self._look_soon(loop)
        await done

    def _look_soon(self, loop: asyncio.AbstractEventLoop) -> None:
        if not self._is_looking:
            self._is_looking = True
            loop.call_soon(self._look, loop)

    def _look(self, loop: Any) -> None:
        self._is_looking = False
        while self._waits and self._waits[0][2].done():
            heapq.heappop(self._waits)
        if not self._waits:
            return
        if not loop._ready:
            due_us, _, done = heapq.heappop(self._waits)
            self._now_us = max(self._now_us, due_us)
            done.set_result(None)
        self._look_soon(loop)


class World:
    """One log with its dispatcher and engines. Everything is public: tests look where they like."""

    def __init__(
        self,
        plans: Sequence[Plan],
        generators: Sequence[Generator],
        *,
        clock: Clock | None = None,
        store: MemoryStore | None = None,
        dispatcher: DispatcherSettings | None = None,
        engine: EngineSettings | None = None,
        engine_count: int = 1,
        hooks: Mapping[str, TerminalHook] | None = None,
        log: Any = None,
        state: Any = None,
        decode: Decode | None = None,
        seed: int = 7,
    ) -> None:
        self.clock = clock or FakeClock()
        self.store = store or MemoryStore(self.clock)
        self.log = log or self.store.log
        self.state = state or self.store.state
        self.link = LocalLink()
        self.registry = CollectorRegistry()
        self.plans = {plan.key: RegisteredPlan(compile_plan(plan), "test", "shadow") for plan in plans}
        self.marks: dict[str, frozenset[int]] = {}
        self.orders: dict[str, Orders] = {}
        self.dispatcher = Dispatcher(
            log=self.log,
            generators=generators,
            link=self.link,
            clock=self.clock,
            random=SeededRandom(seed),
            owner="dispatcher",
            settings=dispatcher or DispatcherSettings(),
            metrics=DispatcherMetrics(self.registry),
            hooks=hooks,
            read_marks=lambda owner: self.marks.get(owner, frozenset()),
            orders_of=lambda generator: self.orders.get(generator, Orders()),
        )
        metrics = EngineMetrics(self.registry)
        self.engines = [
            Engine(
                link=self.link.engine_side(),
                state=self.state,
                log=self.log,
                clock=self.clock,
                ids=SegmentIds(self.state, self.clock),
                owner=f"engine-{number}",
                generators=generators,
                plans=self.plans,
                resources={},
                decode=decode or decode_text,
                settings=engine or EngineSettings(),
                metrics=metrics,
            )
            for number in range(engine_count)
        ]

    async def start(self) -> None:
        await self.dispatcher.start()
        for engine in self.engines:
            await engine.start()

    async def stop(self, *, grace_ms: int = 0) -> None:
        for engine in self.engines:
            await engine.stop(grace_ms=grace_ms)
        await self.dispatcher.stop(grace_ms=grace_ms)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[World]:
        await self.start()
        try:
            yield self
        finally:
            await self.stop()

    async def append(self, topic: str, *texts: str) -> list[int]:
        return await self.log.append(topic, [NewRecord(text.encode()) for text in texts])

    async def settle(self, topic: str, group: str) -> None:
        """Wait until the group has nothing fresh, leased or waiting on a topic."""
        while True:
            lag = await self.log.lag(topic, group)
            if not (lag.undelivered or lag.in_flight or lag.waiting):
                return
            await self.clock.sleep_ms(100)

    def sample(self, name: str, **labels: str) -> float:
        """Return the value of a metric, 0 if nothing was counted yet."""
        return self.registry.get_sample_value(f"gristmill_{name}", labels) or 0.0


def decode_text(delivery: Delivery, generator: Generator) -> MappedRecord | Violations:
    """Take the value for the text, and for the input id too; `!` in front makes it a broken record."""
    text = delivery.value.decode()
    if text.startswith("!"):
        return Violations("broken", ("record: starts with !",))
    return MappedRecord(text, generator.kind, generator.source or generator.topic, text)
