"""A whole message service over memory and a clock that jumps."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence

from prometheus_client import CollectorRegistry

from gristmill.adapters.clock import SeededRandom
from gristmill.adapters.memory import MemoryStore
from gristmill.domain.log import Diagnosis, NewRecord
from gristmill.engine.messages.calling import Jump, Newest
from gristmill.engine.messages.core.envelope import Envelope
from gristmill.engine.messages.core.routes import RoutingTable
from gristmill.engine.messages.sending import MessageSender
from gristmill.engine.messages.service import GROUP, MessageService
from gristmill.engine.runner import RunnerMetrics
from gristmill.testing.clock import FakeClock
from tests.messages.consumers import fresh_metrics

PATIENCE_S = 30
LOOK_AGAIN_MS = 50


class Serving:
    """One service; `work` lets it work until nothing is left, however long its waits are."""

    def __init__(
        self,
        table: RoutingTable,
        jumps: Mapping[str, Jump],
        *,
        newest: Newest | None = None,
        capabilities: Collection[str] = (),
    ) -> None:
        self.clock = FakeClock(is_jumping=True)
        self.store = MemoryStore(self.clock)
        self.log, self.cache = self.store.log, self.store.cache
        self.log.capabilities = self.log.capabilities.union(capabilities)
        self.metrics = fresh_metrics()
        self.table = table
        self.sender = MessageSender(self.log, table, self.clock, metrics=self.metrics)
        self.service = MessageService(
            self.log,
            self.cache,
            self.clock,
            SeededRandom(1),
            table=table,
            jumps=jumps,
            owner="me",
            order=self.log,
            newest=newest,
            metrics=self.metrics,
            runner_metrics=RunnerMetrics(CollectorRegistry()),
        )

    async def work(self, *envelopes: Envelope) -> None:
        """Send records and work until nothing is left."""
        await self.sender.send(envelopes)
        stopping = asyncio.Event()
        async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
            group.create_task(self.service.run(stopping))
            while await self._left():
                await self.clock.sleep_ms(LOOK_AGAIN_MS)
            stopping.set()

    async def append(self, topic: str, records: Sequence[NewRecord]) -> None:
        """Append records as somebody else would."""
        await self.log.append(topic, records)

    async def diagnoses(self) -> list[Diagnosis]:
        """Return why records were given up."""
        return [letter.diagnosis for letter in await self.log.dead_letters()]

    async def _left(self) -> int:
        left = 0
        for topic in self.table.by_topic():
            lag = await self.log.lag(topic, GROUP)
            left += lag.undelivered + lag.in_flight + lag.waiting
        return left
