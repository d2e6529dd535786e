"""The two roles as processes: a feeder, and a server that holds a store."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from prometheus_client import CollectorRegistry, generate_latest

from gristmill.adapters.local_host import new_owner
from gristmill.api.describe import describe, render
from gristmill.api.metrics import ApiMetrics
from gristmill.api.recent import OBSERVE_OPERATIONS, RECENT_OPERATIONS, Admission, ProbeServices, RecentServices
from gristmill.api.security import RequestRates, TokenGate
from gristmill.domain.errors import ConfigError
from gristmill.domain.front.health import HealthReport, Phase, ServiceHealth
from gristmill.plans.names import advise_known
from gristmill.ports.clock import Clock
from gristmill.recent import RecentStore, StoreLimits
from gristmill.recent.core.feed import FeedRules, RawMapping
from gristmill.recent.core.gate import Gate
from gristmill.recent.ending import end_tasks
from gristmill.recent.feeder import Feeder
from gristmill.recent.metrics import FeederMetrics, ServingMetrics, StoreCollector
from gristmill.recent.serving import RecentServing
from gristmill.runtime.composition.stores import Store, check_log, open_store
from gristmill.runtime.faces.first_token import make_first_token
from gristmill.runtime.faces.greeting import Greet, greet
from gristmill.runtime.faces.web import bind
from gristmill.runtime.group.lifecycle import StopSignals
from gristmill.runtime.recent.addresses import FEED_ADDRESS, SERVE_ADDRESS
from gristmill.runtime.recent.settings import RecentSection
from gristmill.runtime.recent.web import RoleWeb
from gristmill.runtime.spec import GroupSpec

__all__ = ["feed", "read_limits", "read_mapping", "serve"]

MS_PER_S = 1_000
GRACE_S = 10.0


async def feed(spec: GroupSpec, clock: Clock, signals: StopSignals, *, greet: Greet = greet) -> None:
    """Feed until a signal asks to stop; the claim that is under way is finished.

    Raises:
        ConfigError: a setting is wrong, or the port is in use.
        Unavailable: the log has refused for too long.
    """
    section = spec.settings.recent
    bound = bind("recent", section.host, section.feed_port)
    mapping, registry = read_mapping(section), CollectorRegistry()
    async with _opened(spec, clock) as store:
        feeder = Feeder(
            store.log,
            clock,
            owner=new_owner(),
            source=section.raw_topic,
            sink=section.topic,
            group=section.group,
            metrics=FeederMetrics(registry),
            rules=FeedRules(retention_ms=section.retention_s * MS_PER_S, video_ms_min=section.video_ms_min),
            mapping=mapping,
        )
        services = _probe_services(spec, store, clock, registry, lambda: _report(signals, "serving", ()))
        web = RoleWeb(services, OBSERVE_OPERATIONS, bound, address=spec.folder.run_dir / FEED_ADDRESS)
        await _live(feeder.run(), web, store, signals, clock=clock, greet=greet, on_stop=feeder.stop, grace_s=GRACE_S)


async def serve(spec: GroupSpec, clock: Clock, signals: StopSignals, *, greet: Greet = greet) -> None:
    """Hold a store and answer until a signal asks to stop; requests under way are answered.

    Raises:
        ConfigError: a setting is wrong, or the port is in use.
        Unavailable: the log cannot be read.
    """
    section = spec.settings.recent
    bound = bind("recent", section.host, section.port)
    registry, gate = CollectorRegistry(), Gate(staleness_ms=section.max_staleness_s * MS_PER_S)
    holding = RecentStore(
        read_limits(section), now_ms=clock.now_ms(), never_serve=frozenset(section.never_serve_authors)
    )
    registry.register(StoreCollector(holding, gate))
    async with _opened(spec, clock) as store:
        metrics = ServingMetrics(registry)
        serving = RecentServing(holding, store.log, clock, topic=section.topic, gate=gate, metrics=metrics)

        def report() -> HealthReport:
            return _report(signals, *_judge(gate, is_strict=section.stale_is_unready))

        probes = _probe_services(spec, store, clock, registry, report)
        services = RecentServices(
            **{field.name: getattr(probes, field.name) for field in dataclasses.fields(probes)}
            | {"description": render(describe(RECENT_OPERATIONS))},
            serving=serving,
            admission=Admission(clock, queries_per_s=section.qps_limit),
            timeout_ms=section.request_timeout_ms,
        )
        web = RoleWeb(services, RECENT_OPERATIONS, bound, address=spec.folder.run_dir / SERVE_ADDRESS)
        await _live(serving.run(), web, store, signals, clock=clock, greet=greet, on_stop=serving.drain)


def read_limits(section: RecentSection) -> StoreLimits:
    """Return the limits of a store that settings say."""
    return StoreLimits(
        retention_ms=section.retention_s * MS_PER_S,
        skew_ms=section.skew_s * MS_PER_S,
        items_max=section.max_items,
        cap=section.cap_per_author_queue,
        originals=section.originals_per_author,
        secondary=section.secondary_per_author,
        videos=section.video_per_author,
        scan=section.scan_limit,
        results=section.max_results,
        video_results=section.max_results_video,
        list_max=section.max_list,
    )


def read_mapping(section: RecentSection) -> RawMapping:
    """Return where values stand in a raw event.

    Raises:
        ConfigError: a name that raw events have no value for.
    """
    known = {field.name: field for field in msgspec.structs.fields(RawMapping)}
    for name in section.paths:
        if name not in known:
            raise ConfigError("recent.paths", value=name, advice=advise_known(name, known))
    return RawMapping(**section.paths)


@asynccontextmanager
async def _opened(spec: GroupSpec, clock: Clock) -> AsyncIterator[Store]:
    await check_log(spec)
    store = open_store(spec, clock, new_owner())
    try:
        yield store
    finally:
        await store.close()


def _probe_services(
    spec: GroupSpec, store: Store, clock: Clock, registry: CollectorRegistry, health: Callable[[], HealthReport]
) -> ProbeServices:
    async def scrape() -> str:
        return generate_latest(registry).decode()

    return ProbeServices(
        gate=TokenGate(store.front.tokens, clock),
        rates=RequestRates(clock, rate_per_s=spec.settings.api.rate_per_s),
        tally=ApiMetrics(registry),
        clock=clock,
        health=health,
        metrics=scrape,
        description=render(describe(OBSERVE_OPERATIONS)),
    )


def _report(signals: StopSignals, phase: Phase, reasons: tuple[str, ...]) -> HealthReport:
    return HealthReport("stopping" if signals.first.is_set() else phase, (ServiceHealth("", reasons),))


def _judge(gate: Gate, *, is_strict: bool) -> tuple[Phase, tuple[str, ...]]:
    if not gate.is_open:
        return "starting", ()
    return "serving", ("answers are stale",) if is_strict and gate.state == "stale" else ()


async def _live(
    work: Coroutine[Any, Any, None],
    web: RoleWeb,
    store: Store,
    signals: StopSignals,
    *,
    clock: Clock,
    greet: Greet,
    on_stop: Callable[[], None],
    grace_s: float = 0,
) -> None:
    """Let a role work and answer until it fails or a signal asks to stop; then it has `grace_s` to end by itself."""
    working = asyncio.create_task(work)
    asked = asyncio.create_task(signals.first.wait())
    answering: asyncio.Task[None] | None = None
    try:
        token = await make_first_token(store.front.tokens, clock)
        await web.start()
        greet(web.url, token)
        answering = asyncio.create_task(web.join())
        await asyncio.wait([working, asked, answering], return_when=asyncio.FIRST_COMPLETED)
        on_stop()
        if grace_s:
            await asyncio.wait([working], timeout=grace_s)
        for ended in (working, answering):
            if ended.done():
                ended.result()
    finally:
        await web.stop()
        await end_tasks([working, asked, *([answering] if answering is not None else [])])
