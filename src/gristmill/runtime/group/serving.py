"""`gristmill up`: which topics a group serves, and its life."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import structlog

from gristmill.adapters.clock import SystemClock, SystemRandom
from gristmill.domain.errors import UsageError
from gristmill.intake.publish import native_generator
from gristmill.plans.names import advise_known
from gristmill.plans.plan import Generator
from gristmill.plans.registry import Registry
from gristmill.ports.models import LLM
from gristmill.runtime.composition.flows import load_flows, refuse_without_generators, used_part
from gristmill.runtime.composition.resources import find_providers, refuse_missing
from gristmill.runtime.composition.sources import publish_folder
from gristmill.runtime.composition.stores import check_log
from gristmill.runtime.doctor.examine import refuse_unfit_host
from gristmill.runtime.faces.board import HealthBoard
from gristmill.runtime.faces.faces import Faces
from gristmill.runtime.faces.greeting import Greet, greet
from gristmill.runtime.garbage import collect_periodically
from gristmill.runtime.group.launching import make_group
from gristmill.runtime.group.lifecycle import StopSignals, serve
from gristmill.runtime.loop import run_async
from gristmill.runtime.settings_sources import LoadedSettings
from gristmill.runtime.spec import GroupSpec

__all__ = ["choose_generators", "serve_topics"]

FAST_IN_FLIGHT = 512
"""Where no plan calls a model, three records at once would only wait for each other."""

_log = structlog.get_logger()


def serve_topics(
    loaded: LoadedSettings,
    *,
    flow_files: Sequence[str],
    topic: str | None = None,
    plans: Sequence[str] = (),
    source: str = "",
    further: Sequence[Generator] = (),
    greet: Greet = greet,
) -> None:
    """Run a group in a state folder that the caller has locked, until a signal asks it to stop.

    Args:
        further: generators that are served too, though no flow brings them.
        greet: is told where the API answers.
    Raises:
        ConfigError, UsageError: it cannot start.
        Unavailable: a process died too often, or the disk of the state folder is full.
    """
    registry = load_flows(loaded.settings, flow_files=flow_files).registry
    published_to = _plans_of_items(loaded, registry)
    generators = (
        *choose_generators(registry, topic=topic, plans=plans, source=source, published_to=published_to),
        *further,
    )
    used = used_part(registry, generators)
    refuse_missing(used, find_providers())
    if not any(need.port is LLM for need in used.needs()):
        loaded = loaded.with_default("dispatcher.max_in_flight", FAST_IN_FLIGHT, origin="no plan calls a model")
    settings = loaded.settings
    spec = GroupSpec(
        state_dir=settings.main.state_dir,
        settings=settings,
        flow_files=tuple(flow_files),
        generators=generators,
        awaited=(*registry.generators.values(), *([native_generator(published_to)] if published_to else [])),
    )
    with spec.folder.naming_a_full_disk():
        run_async(_serve(spec, used, greet))


def choose_generators(
    registry: Registry,
    *,
    topic: str | None,
    plans: Sequence[str],
    source: str = "",
    published_to: Sequence[str] = (),
) -> tuple[Generator, ...]:
    """Return the generators of the enabled flows, or one for a topic that was named.

    Args:
        source: name of the Source that maps the records of the named topic; empty for automatic mapping.
        published_to: plan keys for items that are published; there is a generator for them unless a topic is named.
    Raises:
        UsageError: a plan is unknown, or only one of topic and plans was given.
        ConfigError: there is nothing to serve.
    """
    if topic is None:
        if plans:
            raise UsageError("--plan without --topic", value=", ".join(plans), advice="name the topic: --topic TOPIC")
        if source:
            raise UsageError("--source without --topic", value=source, advice="name the topic: --topic TOPIC")
        generators = tuple(registry.generators.values())
        if published_to:
            generators = (*generators, native_generator(published_to))
        refuse_without_generators(generators)
        return generators
    if not plans:
        raise UsageError(
            "--topic without --plan", value=topic, advice=f"--plan KEY; {advise_known('', registry.plans)}"
        )
    _refuse_unknown(registry, plans, of="plan key")
    keys = tuple(dict.fromkeys(plans))
    return (Generator(type=f"{topic}.{'+'.join(keys)}", topic=topic, plans=keys, source=source),)


def _plans_of_items(loaded: LoadedSettings, registry: Registry) -> tuple[str, ...]:
    """Return the plans that published items go through, none where nothing can be published."""
    section = loaded.settings.api
    if not section.enabled:
        return ()
    if "api.plans" not in loaded.origins and not all(key in registry.plans for key in section.plans):
        return ()  # The flow of the default plan is not enabled, and nobody has asked for another.
    _refuse_unknown(registry, section.plans, of="api.plans")
    return tuple(dict.fromkeys(section.plans))


def _refuse_unknown(registry: Registry, plans: Sequence[str], *, of: str) -> None:
    for key in plans:
        if key not in registry.plans:
            raise UsageError(of, value=key, advice=advise_known(key, registry.plans))


async def _serve(spec: GroupSpec, registry: Registry, greet: Greet) -> None:
    clock = SystemClock()
    signals = StopSignals()
    signals.install()
    section = spec.settings.main
    collecting = asyncio.create_task(
        collect_periodically(clock, SystemRandom(), interval_s=section.gc_interval_s, jitter_s=section.gc_jitter_s)
    )
    refuse_unfit_host(spec.settings)
    await check_log(spec)
    await publish_folder(spec, clock)
    for warning in registry.warnings:
        _log.warning(warning)
    _log.info("group starts", topics=[generator.topic for generator in spec.generators])
    group = make_group(spec, registry, clock)
    board = HealthBoard(group.health, clock, is_stopping=signals.first.is_set)
    faces = Faces(spec, registry, board, clock, greet=greet)
    try:
        await faces.start()
        await serve(
            group,
            faces.join(),
            signals=signals,
            clock=clock,
            folder=spec.folder,
            drain_timeout_s=section.shutdown_drain_timeout_s,
        )
    finally:
        collecting.cancel()
        await faces.stop()
    _log.info("group stopped", topics=[generator.topic for generator in spec.generators])
