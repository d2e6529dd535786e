"""The HTTP face of a group: the API over a store of its own."""

from __future__ import annotations

import asyncio
import socket

import structlog

from gristmill.adapters.local_host import new_owner
from gristmill.api.app import build_app
from gristmill.api.console import build_console
from gristmill.api.describe import describe, render
from gristmill.api.desk import Desk
from gristmill.api.metrics import ApiMetrics
from gristmill.api.reading.waits import explain_waits
from gristmill.api.routes import OPERATIONS
from gristmill.api.security import RequestRates, TokenGate
from gristmill.api.services import Services
from gristmill.domain.errors import UsageError
from gristmill.domain.front.waiting import WAIT_REASONS
from gristmill.domain.log import Lag
from gristmill.engine.dispatch.orders import LiveOrders
from gristmill.engine.scoring import Scorer
from gristmill.intake.ids import SegmentIds
from gristmill.intake.publish import NATIVE, Publisher
from gristmill.intake.sources.catalogue import LiveSources
from gristmill.plans.plan import Generator
from gristmill.plans.registry import Registry
from gristmill.ports.clock import Clock
from gristmill.runtime.composition.decode import RecordDecoder
from gristmill.runtime.composition.scoring import build_scorer, warm_up
from gristmill.runtime.composition.stores import Store, open_store
from gristmill.runtime.delivery import build_sending
from gristmill.runtime.faces.backlog import BacklogWatch, Unsent
from gristmill.runtime.faces.board import HealthBoard
from gristmill.runtime.faces.first_token import is_locked_out, make_first_token
from gristmill.runtime.faces.greeting import Greet, greet
from gristmill.runtime.faces.web import WebServer, bind, is_loopback
from gristmill.runtime.garbage import settle_heap
from gristmill.runtime.processes.switching import switch_often
from gristmill.runtime.spec import GroupSpec
from gristmill.runtime.telemetry import render_metrics

__all__ = ["ADDRESS_FILE", "HttpFace"]

ADDRESS_FILE = "http.address"
"""In the folder for sockets: where this group is reached."""

_log = structlog.get_logger()


class HttpFace:
    """One service; `start` and `stop` are safe to call twice.

    Args:
        unsent: returns how much of what was published is not in the log yet, where it is apart.
    Raises:
        ConfigError: an address cannot be listened on, or a route has no guard.
    """

    def __init__(
        self,
        spec: GroupSpec,
        registry: Registry,
        board: HealthBoard,
        clock: Clock,
        *,
        greet: Greet = greet,
        unsent: Unsent | None = None,
    ) -> None:
        self._spec = spec
        self._greet = greet
        self._clock = clock
        self._registry = registry
        self._board = board
        self._bound: socket.socket = bind("api", spec.settings.api.host, spec.settings.api.port)
        self._store: Store = open_store(spec, clock, new_owner())
        self._ids = SegmentIds(self._store.state, clock)
        self._backlog = BacklogWatch(
            self._store.log,
            spec.generators,
            clock,
            records_max=spec.settings.api.backlog_max,
            unsent=unsent,
            tell=self._tell_waits,
        )
        self._sources = LiveSources(self._store.definitions, clock)
        self._orders = LiveOrders(self._store.definitions, clock)
        self._scorer, self._readers = build_scorer(spec, registry, self._store)
        self._services, console = self._make_services(registry, self._scorer), spec.settings.console
        pages = build_console(self._services, base_path=console.base_path) if console.enabled else []
        self._web = WebServer(build_app(self._services, pages=pages), self._bound)
        self._address = spec.folder.run_dir / ADDRESS_FILE
        self._main: asyncio.Task[None] | None = None

    @property
    def url(self) -> str:
        """Where HTTP is served."""
        return self._web.url

    async def start(self) -> None:
        """Begin to answer, and tell a person at the terminal where; the first token is shown there and in no log."""
        if self._main is not None:
            return
        token = await make_first_token(self._store.front.tokens, self._clock)
        if await is_locked_out(self._store.front.tokens):
            _log.warning("every token was revoked: make one with `gristmill token create NAME --role admin`")
        await self._sources.refresh()
        await self._orders.refresh()
        switch_often()
        await self._web.start()
        self._address.write_text(f"{self.url}\n", encoding="utf-8")
        if not is_loopback(self._bound):
            _log.warning("the API is reached from other machines, without TLS", address=self.url)
        self._main = asyncio.create_task(self._run(), name="http")
        self._greet(self.url, token)

    async def join(self) -> None:
        """Return when it has stopped; raise what ended it otherwise."""
        if self._main is not None:
            await asyncio.wait([self._main])
            if not self._main.cancelled():
                self._main.result()

    async def stop(self) -> None:
        """Finish the requests under way and let go of everything."""
        await self._web.stop()
        if self._main is not None:
            self._main.cancel()
            await asyncio.wait([self._main])
        self._address.unlink(missing_ok=True)
        self._scorer.close()
        for reader in self._readers:
            await reader.close()
        await self._store.close()

    async def _run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._ids.run())
            tasks.create_task(self._warm_up())
            tasks.create_task(self._sources.run())
            tasks.create_task(self._orders.run())
            tasks.create_task(self._backlog.run())
            tasks.create_task(self._web.join())

    async def _warm_up(self) -> None:
        await warm_up(self._scorer, self._registry)
        settle_heap()

    def _make_services(self, registry: Registry, scorer: Scorer) -> Services:
        store, generators = self._store, {one.type: one for one in self._spec.generators}
        decode = RecordDecoder(self._spec.field_maps, self._sources)
        return Services(
            state=store.state,
            log=store.log,
            front=store.front,
            clock=self._clock,
            gate=TokenGate(store.front.tokens, self._clock),
            rates=RequestRates(self._clock, rate_per_s=self._spec.settings.api.rate_per_s),
            tally=ApiMetrics(),
            is_full=self._backlog.is_full,
            publisher=Publisher(
                inlet=store.front.inlet,
                ids=self._ids,
                clock=self._clock,
                map_record=decode,
            ),
            scorer=scorer,
            desk=Desk(
                log=store.log,
                closings=store.closings,
                clock=self._clock,
                decode=decode,
                scorer=scorer,
                generators=generators,
                plans=registry.plans,
            ),
            registry=registry,
            generators=generators,
            native=generators.get(NATIVE),
            sources=self._sources,
            orders=self._orders,
            definitions=store.definitions,
            changes=store.changes,
            deliveries=store.deliveries,
            sending=build_sending(self._spec.settings.delivery, store.log, self._clock),
            retries_s=self._spec.settings.delivery.retries_s,
            health=self._board.report,
            metrics=self._scrape,
            description=render(describe(OPERATIONS)),
        )

    def _tell_waits(self, generator: Generator, lag: Lag) -> None:
        waits = explain_waits(self._services, generator, lag)
        for reason in WAIT_REASONS:
            self._services.tally.waits.labels(generator.type, reason).set(reason in waits)

    async def _scrape(self) -> str:
        try:
            return await asyncio.to_thread(render_metrics, self._spec.folder.metrics_dir)
        except UsageError:
            return ""
