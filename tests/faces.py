"""The API over stores in memory, called in process, with content to look at."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import httpx
import msgspec
from prometheus_client import CollectorRegistry

from gristmill import Item, Label, Plan, cell, task
from gristmill.adapters.memory import MemoryStore
from gristmill.adapters.sqlite import SqliteStore
from gristmill.api.app import build_app
from gristmill.api.console import build_console
from gristmill.api.describe import describe, render
from gristmill.api.desk import Desk
from gristmill.api.metrics import ApiMetrics
from gristmill.api.routes import OPERATIONS
from gristmill.api.security import RequestRates, TokenGate, make_token
from gristmill.api.services import Services
from gristmill.deliver.sending import Sending
from gristmill.domain.front.access import EVERY_TENANT, Role
from gristmill.domain.front.health import HealthReport, ServiceHealth
from gristmill.engine.dispatch.orders import LiveOrders
from gristmill.engine.scoring import Scorer
from gristmill.intake.ids import SegmentIds
from gristmill.intake.publish import Publisher, native_generator
from gristmill.intake.sources.catalogue import LiveSources
from gristmill.plans.plan import Flow
from gristmill.plans.registry import build_registry
from gristmill.runtime.composition.decode import RecordDecoder
from gristmill.testing.clock import FakeClock
from gristmill.testing.contracts.backend import make_commit
from tests.delivery.desk import Receivers


@cell("shout")
class Shout(msgspec.Struct, frozen=True):
    text: str
    labels: tuple[Label, ...] = ()


@task(attempts=1)
def shout(item: Item) -> Shout:
    if item.text == "break":
        raise ValueError("broken on purpose")
    labels = (Label("loud", 0.9, "it shouts", ("!",)),) if "!" in item.text else ()
    return Shout(item.text.upper(), labels)


@task(attempts=1)
async def forever(item: Item) -> None:
    await asyncio.Event().wait()


LOUD = Flow("loud", plans=[Plan("loud", tasks=[shout]), Plan("slow", tasks=[forever])])


class Face:
    """Services over a store, in memory unless another is given, and a client that calls them."""

    def __init__(
        self, store: MemoryStore | SqliteStore | None = None, *, clock: FakeClock | None = None, rate_per_s: float = 0
    ) -> None:
        self.clock = clock or FakeClock()
        self.is_full = False
        self.store = store or MemoryStore(self.clock)
        self.ids = SegmentIds(self.store.state, self.clock)
        self.health = HealthReport("serving", (ServiceHealth(""), ServiceHealth("dispatcher"), ServiceHealth("engine")))
        self.receivers = Receivers(self.clock)
        registry = build_registry([LOUD])
        native = self.native = native_generator(["loud"])
        self.sources = LiveSources(self.store.definitions, self.clock)
        decode = self.decode = RecordDecoder({}, self.sources)
        scorer = Scorer(registry.plans, resources={}, clock=self.clock)
        self.services = Services(
            state=self.store.state,
            log=self.store.log,
            front=self.store.front,
            clock=self.clock,
            gate=TokenGate(self.store.front.tokens, self.clock),
            rates=RequestRates(self.clock, rate_per_s=rate_per_s),
            tally=ApiMetrics(CollectorRegistry()),
            is_full=lambda generator: self.is_full,
            publisher=Publisher(inlet=self.store.front.inlet, ids=self.ids, clock=self.clock, map_record=decode),
            scorer=scorer,
            desk=Desk(
                log=self.store.log,
                closings=self.store.closings,
                clock=self.clock,
                decode=decode,
                scorer=scorer,
                generators={native.type: native},
                plans=registry.plans,
            ),
            registry=registry,
            generators={native.type: native},
            native=native,
            health=lambda: self.health,
            metrics=self._scrape,
            description=render(describe(OPERATIONS)),
            sources=self.sources,
            orders=LiveOrders(self.store.definitions, self.clock),
            definitions=self.store.definitions,
            changes=self.store.changes,
            deliveries=self.store.deliveries,
            sending=Sending(self.receivers, self.store.log, self.clock),
        )
        self.app = build_app(self.services, pages=build_console(self.services))
        self.client = httpx.AsyncClient(
            transport=httpx.ASGITransport(app=cast("Any", self.app), raise_app_exceptions=False),
            base_url="http://face",
        )

    async def _scrape(self) -> str:
        return "gristmill_up 1\n"

    async def token(self, role: Role = "admin", *, tenant: str = EVERY_TENANT) -> dict[str, str]:
        """Make a token and return the header that carries it."""
        made = make_token(f"{role} of {tenant}", role=role, tenant=tenant, now_ms=self.clock.now_ms())
        await self.store.front.tokens.add(made.stored)
        return {"Authorization": f"Bearer {made.text}"}

    async def add_items(self, *numbers: int, **changes: Any) -> None:
        """Store ended runs of items with these ids."""
        await self.store.state.commit([make_commit(number, **changes) for number in numbers])


@asynccontextmanager
async def face(
    store: MemoryStore | SqliteStore | None = None, *, clock: FakeClock | None = None, rate_per_s: float = 0
) -> AsyncIterator[Face]:
    """Return services that are ready to be called."""
    made = Face(store, clock=clock, rate_per_s=rate_per_s)
    fetching = asyncio.create_task(made.ids.run())
    try:
        yield made
    finally:
        fetching.cancel()
        await asyncio.gather(fetching, return_exceptions=True)
        await made.client.aclose()
        made.services.scorer.close()
