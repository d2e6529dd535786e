"""Builds the two services from a spec. What differs between one process and many is handed in: store, link, marks."""

from __future__ import annotations

from gristmill.adapters.clock import SystemClock, SystemRandom
from gristmill.adapters.local_host import RunningMarks, read_marks
from gristmill.adapters.media import ChildImageReader
from gristmill.engine.dispatch.orders import LiveOrders
from gristmill.engine.dispatcher import Dispatcher
from gristmill.engine.link import DispatcherLink, EngineLink
from gristmill.engine.metrics import DispatcherMetrics, EngineMetrics
from gristmill.engine.runner.metrics import lag_metrics
from gristmill.engine.service import Engine
from gristmill.intake.ids import SegmentIds
from gristmill.intake.sources.catalogue import LiveSources
from gristmill.runtime.composition.decode import RecordDecoder
from gristmill.runtime.composition.flows import load_flows, used_part
from gristmill.runtime.composition.limits import dispatcher_settings, engine_settings
from gristmill.runtime.composition.members import DispatcherMember, EngineMember, TimedLink
from gristmill.runtime.composition.resources import Surroundings, fill_needs, find_providers, refuse_missing
from gristmill.runtime.composition.stores import Store
from gristmill.runtime.lag.losses import LossWatch
from gristmill.runtime.log_apart import read_foreign
from gristmill.runtime.spec import GroupSpec

__all__ = ["assemble_dispatcher", "assemble_engine"]


def assemble_dispatcher(spec: GroupSpec, store: Store, *, owner: str, link: DispatcherLink) -> DispatcherMember:
    """Build the dispatcher of a group."""
    clock = SystemClock()
    folder = spec.folder
    timed = TimedLink(link, clock)
    orders = LiveOrders(store.definitions, clock)
    dispatcher = Dispatcher(
        log=store.log,
        generators=spec.generators,
        link=timed,
        clock=clock,
        random=SystemRandom(),
        owner=owner,
        settings=dispatcher_settings(spec.settings),
        metrics=DispatcherMetrics(),
        read_marks=lambda engine: read_marks(folder.owners_dir, engine),
        orders_of=orders.of,
    )
    losses = LossWatch(store.log, spec.generators, clock, lag_metrics())
    return DispatcherMember(dispatcher, store, timed, owner=owner, orders=orders, losses=losses)


def assemble_engine(spec: GroupSpec, store: Store, *, owner: str, link: EngineLink) -> EngineMember:
    """Build an engine with the flows and resources that the group's generators need.

    Raises:
        ConfigError: a flow or a plan is not sound, or a role is not played.
    """
    registry = used_part(load_flows(spec.settings, flow_files=spec.flow_files).registry, spec.generators)
    providers = find_providers()
    refuse_missing(registry, providers)
    settings = engine_settings(spec.settings)
    resources = fill_needs(registry, providers, Surroundings(spec.folder, store.cache, spec.settings.media))
    clock = SystemClock()
    sources = LiveSources(store.definitions, clock)
    engine = Engine(
        link=link,
        state=store.state,
        log=store.log,
        clock=clock,
        ids=SegmentIds(store.state, clock),
        owner=owner,
        generators=spec.generators,
        plans=registry.plans,
        resources=resources,
        decode=RecordDecoder(spec.field_maps, sources, foreign=read_foreign(spec.settings.log.foreign)),
        settings=settings,
        metrics=EngineMetrics(),
        marks=RunningMarks(spec.folder.owners_dir, owner),
    )
    readers = [one for one in resources.values() if isinstance(one, ChildImageReader)]
    return EngineMember(engine, store, sources=sources, readers=readers)
