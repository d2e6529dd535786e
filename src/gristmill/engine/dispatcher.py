"""The Dispatcher: claims records of all generators by weight, hands them to engines, and sees each of them to its end.

    fill       claims what there is room for and sends it in frames
    results    takes what engines say; never waits for the log
    settle     recovery topic, dead letters, hand-backs
    leases     renews everything under way, in one call
    monitor    lost records, dead owners, the gauge

An engine accepts records inside its own commit or right after it; the Dispatcher only learns of it. Where the log lets
only the claimer settle, the Dispatcher accepts what the engine has committed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

import structlog

from gristmill.domain.errors import ConfigError, Unavailable
from gristmill.domain.frame import FrameDone, RecordEnded, Stop
from gristmill.domain.log import Lease
from gristmill.domain.steering import Orders
from gristmill.engine.core.inflight import InFlight
from gristmill.engine.dispatch.desk import Desk
from gristmill.engine.dispatch.feed import Feed
from gristmill.engine.dispatch.fill import Filler
from gristmill.engine.dispatch.leases import LeaseKeeper, Monitor
from gristmill.engine.dispatch.orders import OrdersOf
from gristmill.engine.dispatch.settle import Settlement, TerminalHook
from gristmill.engine.link import DispatcherLink, Joined, Left, Said
from gristmill.engine.metrics import DispatcherMetrics
from gristmill.engine.settings import DispatcherSettings
from gristmill.engine.wake import Wake, wait_first
from gristmill.plans.plan import Generator, check_generator
from gristmill.ports.clock import Clock, Random
from gristmill.ports.log import Log

__all__ = ["Dispatcher"]

HAND_BACK_DELAY_MS = 1_000
"""An engine gave records back untouched since something it needs is down; trying at once would only spin."""

_log = structlog.get_logger()


class Dispatcher:
    """One service; `start`, `drain` and `stop` are safe to call twice.

    Args:
        owner: this process; records are leased in the names of the engines.
        hooks: generator type -> what to do with records that failed, instead of recovery and dead letters.
        read_marks: owner of an engine -> log offsets that it was working on when it died; None when it never kept
            marks, and then every record that it had is charged.
        orders_of: what people have ordered about a generator; asked again and again.

    Raises:
        ConfigError: no generator, two of one type, or one that could not feed anything.
    """

    def __init__(
        self,
        *,
        log: Log,
        generators: Sequence[Generator],
        link: DispatcherLink,
        clock: Clock,
        random: Random,
        owner: str,
        settings: DispatcherSettings,
        metrics: DispatcherMetrics,
        hooks: Mapping[str, TerminalHook] | None = None,
        read_marks: Callable[[str], frozenset[int] | None] = lambda owner: frozenset(),
        orders_of: OrdersOf = lambda generator: Orders(),
    ) -> None:
        _check(generators)
        in_flight = InFlight(limit=settings.max_in_flight, task_timeout_ms=settings.task_timeout_ms)
        self._desk = Desk(log, clock, owner, settings, metrics, in_flight, Wake(), Wake(), orders_of)
        self._link = link
        self._read_marks = read_marks
        self._settlement = Settlement(self._desk, {each.type: each for each in generators}, dict(hooks or {}))
        self._feeds = [Feed(generator, self._desk) for generator in generators]
        self._filler = Filler(self._desk, self._feeds, link, random, self._settlement)
        self._leases = LeaseKeeper(self._desk)
        self._monitor = Monitor(self._desk, self._settlement)
        self._accepts_here = "claimer_settles" in log.capabilities
        self._main: asyncio.Task[None] | None = None
        self.started = asyncio.Event()

    @property
    def in_flight_count(self) -> int:
        """Records that are leased and not settled."""
        return len(self._desk.in_flight)

    @property
    def generators_up(self) -> dict[str, bool]:
        """Generator type -> whether its claims succeed."""
        return {feed.generator.type: feed.is_up for feed in self._feeds}

    def note_orders(self) -> None:
        """Look at once for what new orders allow."""
        self._desk.note_change()

    async def start(self) -> None:
        """Open the link and begin to claim."""
        if self._main is not None:
            return
        await self._link.start()
        self._main = asyncio.create_task(self._run(), name="dispatcher")
        self._main.add_done_callback(lambda _: self._desk.quiet.set())
        self.started.set()

    async def join(self) -> None:
        """Return when the service has stopped; raise what ended it otherwise."""
        if self._main is not None:
            await asyncio.wait([self._main])
            if not self._main.cancelled():
                self._main.result()

    async def drain(self) -> None:
        """Stop claiming at once and return as soon as nothing is under way. What is being claimed is handed back."""
        self._filler.close()
        while self._main is not None and not self._main.done() and not self._is_quiet():
            await self._desk.quiet.wait()

    async def stop(self, *, grace_ms: int = 0) -> None:
        """Drain for `grace_ms`, hand back what is left without counting an attempt, and end."""
        self._filler.close()
        main = self._main
        if main is None:
            return
        await self._filler.tell_all(Stop())
        if not main.done() and not self._is_quiet():
            await wait_first(self.drain(), self._desk.clock.sleep_ms(grace_ms))
        main.cancel()
        await asyncio.wait([main])
        await self._return_rest()
        await self._link.close()

    async def _run(self) -> None:
        async with asyncio.TaskGroup() as loops:
            loops.create_task(self._filler.run())
            loops.create_task(self._take_results())
            loops.create_task(self._settlement.run())
            loops.create_task(self._leases.run())
            loops.create_task(self._monitor.run())

    async def _take_results(self) -> None:
        while True:
            match await self._link.receive():
                case Joined(hello=hello):
                    self._filler.add_engine(hello)
                case Left(engine=engine):
                    self._on_left(engine)
                case Said(engine=engine, message=FrameDone() as done):
                    self._on_done(engine, done)
                case Said(engine=engine, message=message):
                    _log.warning("engine says something odd", engine=engine, message=type(message).__name__)

    def _on_done(self, engine: str, done: FrameDone) -> None:
        desk = self._desk
        returned: list[Lease] = []
        accepted: list[Lease] = []
        succeeded = fenced = 0
        for ended in done.ended:
            if ended.accepted and self._accepts_here:
                if desk.in_flight.detach(ended.lease) is None:
                    self._on_unknown(engine, ended)
                    continue
                succeeded += 1
                accepted.append(ended.lease)
            elif ended.accepted or ended.fenced:
                if not desk.in_flight.take(ended.lease):
                    self._on_unknown(engine, ended)
                    continue
                succeeded += ended.accepted
                fenced += ended.fenced
            elif (sent := desk.in_flight.detach(ended.lease)) is None:
                self._on_unknown(engine, ended)
            elif ended.diagnosis is None:
                returned.append(ended.lease)
            else:
                desk.metrics.failed.labels(sent.generator).inc()
                self._settlement.put_failure(sent, ended.diagnosis)
        desk.metrics.succeeded.inc(succeeded)
        desk.metrics.fenced.inc(fenced)
        desk.metrics.returned.inc(len(returned))
        self._settlement.put_accept(accepted)
        self._settlement.put_return(returned, delay_ms=0 if self._filler.is_closed else HAND_BACK_DELAY_MS)
        desk.note_change()

    def _on_unknown(self, engine: str, ended: RecordEnded) -> None:
        # A fenced record that we have let go already is what both sides expect.
        if not ended.fenced:
            self._desk.metrics.unknown.inc()
            _log.warning("result of a record that is not under way", engine=engine, offset=ended.lease.offset)

    def _on_left(self, engine: str) -> None:
        """Hand back what a lost engine had; only what it was working on is charged with its death."""
        self._filler.remove_engine(engine)
        in_flight = self._desk.in_flight
        held = [lease for lease in in_flight.engine_leases(engine) if in_flight.detach(lease) is not None]
        if not held:
            return
        running = self._read_marks(engine)
        # Lists, for the hash of a lease is another one in each process: the same story has to go on the same way.
        charged = [lease for lease in held if running is None or lease.offset in running]
        spared = [] if running is None else [lease for lease in held if lease.offset not in running]
        _log.warning("engine left with records", engine=engine, held=len(held), charged=len(charged))
        self._settlement.put_return(charged, counted=True)
        self._settlement.put_return(spared)

    def _is_quiet(self) -> bool:
        return len(self._desk.in_flight) == 0 and not self._filler.is_claiming

    async def _return_rest(self) -> None:
        leases = self._desk.in_flight.leases()
        if not leases:
            return
        try:
            await self._desk.log.release(leases, counted=False)
        except Unavailable as error:
            _log.warning("leases stay until they run out", count=len(leases), error=str(error))


def _check(generators: Sequence[Generator]) -> None:
    if not generators:
        raise ConfigError("dispatcher without a generator", advice="name at least one generator type")
    seen: set[str] = set()
    for generator in generators:
        check_generator(generator)
        if generator.type in seen:
            raise ConfigError("generator type given twice", value=generator.type, advice="name it once")
        seen.add(generator.type)
