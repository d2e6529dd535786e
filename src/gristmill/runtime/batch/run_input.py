"""One `gristmill run`, from a path to a written output."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import msgspec

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.local_host import new_owner
from gristmill.domain.errors import UsageError
from gristmill.intake.fields import FieldMap
from gristmill.intake.reader import InputFile, open_input
from gristmill.intake.sources.catalogue import load_source, publish_source
from gristmill.intake.sources.mapper import SourceMapper
from gristmill.plans.plan import Generator
from gristmill.plans.registry import Registry
from gristmill.ports.clock import Clock
from gristmill.runtime.batch.choose_plans import choose_plans, describe_work, refuse_unmapped
from gristmill.runtime.batch.feed import Progress, feed_input, measure_progress
from gristmill.runtime.batch.manifest import InputManifest, write_manifest
from gristmill.runtime.batch.naming import choose_topic, compute_digest
from gristmill.runtime.batch.outcomes import read_outcomes
from gristmill.runtime.batch.report import Summary, check_output, write_outcomes
from gristmill.runtime.batch.work_off import OnProgress, work_off
from gristmill.runtime.composition.decode import RecordDecoder
from gristmill.runtime.composition.flows import load_flows, used_part
from gristmill.runtime.composition.resources import find_providers, refuse_missing
from gristmill.runtime.composition.stores import Store, open_sqlite
from gristmill.runtime.group.lifecycle import Group, StopSignals, serve
from gristmill.runtime.settings import Settings
from gristmill.runtime.spec import GroupSpec

__all__ = ["Begun", "MakeGroup", "RunReport", "RunRequest", "run_input"]


class RunRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a person asks for; see `gristmill run --help`.

    Attributes:
        source: Source file that maps the records; `fields` is then not looked at.
    """

    input: Path
    source: Path | None = None
    plans: tuple[str, ...] = ()
    flow_files: tuple[str, ...] = ()
    fields: FieldMap = FieldMap()
    output: Path | None = None
    is_fresh: bool = False


class Begun(msgspec.Struct, frozen=True):
    """How a run begins.

    Attributes:
        found: records that an earlier run had put in already.
        is_finished: all of them have ended; only the output is written again.
    """

    topic: str
    plans: tuple[str, ...]
    found: int
    is_finished: bool


class RunReport(msgspec.Struct, frozen=True):
    """How a run went; `summary` is None when it was interrupted."""

    summary: Summary | None
    seconds: float
    worked: int
    """Records that ended during this run."""


MakeGroup = Callable[[GroupSpec, Registry, Clock], Group]


async def run_input(
    request: RunRequest,
    settings: Settings,
    *,
    make_group: MakeGroup,
    signals: StopSignals,
    on_begin: Callable[[Begun], None],
    on_progress: OnProgress,
) -> RunReport:
    """Work off a file in a state folder that the caller has locked, and write the output.

    Raises:
        UsageError, ConfigError: nothing was done.
        Unavailable: the group has given up; a repeat goes on where it stopped.
    """
    check_output(request.output, input=request.input)
    input_file = open_input(request.input)
    source = _load_source(request, input_file)
    registry, file_flows = load_flows(settings, flow_files=request.flow_files)
    asked = request.plans or (source.definition.start if source is not None else ())
    plans = choose_plans(registry, asked, file_flows=file_flows)
    clock = SystemClock()
    began_us = clock.monotonic_us()
    spec = GroupSpec(state_dir=settings.main.state_dir, settings=settings, flow_files=request.flow_files)
    store = open_sqlite(spec, clock, new_owner())
    try:
        if source is not None:
            source = await publish_source(store.definitions, source, actor="gristmill run", clock=clock)
        name = source.definition.address if source is not None else _source_of(request.input)
        topic = await _find_topic(store, request, input_file, registry, plans)
        generator = Generator(type=topic, topic=topic, plans=plans, source=name)
        spec = msgspec.structs.replace(spec, generators=(generator,), field_maps={topic: request.fields})
        used = used_part(registry, spec.generators)
        refuse_missing(used, find_providers())
        before, is_finished = await _look(store, generator, input_file, blobs=spec.folder.blobs_dir)
        on_begin(Begun(topic, plans, before.appended, is_finished))
        _note_input(spec, request, generator, clock)
        if not is_finished:
            work = work_off(
                store.log,
                generator,
                input_file,
                blobs=spec.folder.blobs_dir,
                clock=clock,
                on_progress=on_progress,
            )
            group = make_group(spec, used, clock)
            timeout_s = settings.main.shutdown_drain_timeout_s
            if not await serve(
                group, work, signals=signals, clock=clock, folder=spec.folder, drain_timeout_s=timeout_s
            ):
                return RunReport(None, _seconds_since(began_us, clock), 0)
        mapper = source or RecordDecoder(spec.field_maps).mapper(generator)
        outcomes = read_outcomes(store.log, store.state, generator=generator, mapper=mapper)
        summary = await write_outcomes(outcomes, request.output)
        return RunReport(summary, _seconds_since(began_us, clock), summary.item_count - before.ended)
    finally:
        await store.close()


def _load_source(request: RunRequest, input_file: InputFile) -> SourceMapper | None:
    """Return the Source that was asked for; without one, refuse a file in which no field can be found by name."""
    if request.source is not None:
        source = load_source(request.source)
        if source.definition.schema is not None:
            thing = f"source {source.definition.address!r} maps records that are no lines of a file"
            advice = "serve their topic: gristmill up --topic TOPIC --plan KEY --source NAME"
            raise UsageError(thing, value=source.definition.decode, advice=advice)
        return source
    refuse_unmapped(input_file, request.fields)
    return None


async def _find_topic(
    store: Store, request: RunRequest, input_file: InputFile, registry: Registry, plans: tuple[str, ...]
) -> str:
    work = await asyncio.to_thread(describe_work, registry, plans, flow_files=request.flow_files)
    mapping: object = request.fields if request.source is None else await asyncio.to_thread(request.source.read_text)
    digest = compute_digest([_source_of(request.input), input_file.fingerprint, mapping, work])
    stem = request.input.name.partition(".")[0]
    topics = await store.log.topics()
    topic = choose_topic(topics, stem=stem, digest=digest, is_fresh=request.is_fresh)
    if await store.log.trimmed(topic):
        # Its records are past their retention, so its output cannot be told any more.
        topic = choose_topic(topics, stem=stem, digest=digest, is_fresh=True)
    return topic


async def _look(store: Store, generator: Generator, input_file: InputFile, *, blobs: Path) -> tuple[Progress, bool]:
    """Return how far earlier runs came, and whether nothing is left to do."""
    before = await measure_progress(store.log, generator)
    if not before.appended:
        return before, False
    total = await feed_input(store.log, generator.topic, input_file, blobs=blobs)
    return before, before.is_idle and before.appended == total


def _note_input(spec: GroupSpec, request: RunRequest, generator: Generator, clock: Clock) -> None:
    manifest = InputManifest(
        topic=generator.topic,
        path=_place_of(request.input.absolute()),
        source=generator.source,
        plans=generator.plans,
        started_at_ms=clock.now_ms(),
    )
    write_manifest(spec.folder.inputs_dir, manifest)


def _source_of(path: Path) -> str:
    """Return what gives the input ids of a file their meaning: its place, so that a changed file updates its items."""
    return _place_of(path.resolve())


def _place_of(path: Path) -> str:
    """Return a path as text that can be stored; a name of a file may hold any bytes."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _seconds_since(began_us: int, clock: Clock) -> float:
    return (clock.monotonic_us() - began_us) / 1_000_000
