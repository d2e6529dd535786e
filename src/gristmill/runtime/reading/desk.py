"""The dead-letter desk of a state folder, for a command that works on it without a group."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

from gristmill.adapters.clock import SystemClock
from gristmill.api.desk import Desk
from gristmill.domain.log import DeadLetter, Delivery, Lease
from gristmill.engine.core.recovery import read_origin
from gristmill.engine.scoring import Scorer
from gristmill.engine.settings import recovery_topic_of
from gristmill.intake.publish import native_generator
from gristmill.intake.sources.catalogue import LiveSources
from gristmill.plans.plan import Generator
from gristmill.plans.registry import RegisteredPlan, Registry
from gristmill.runtime.batch.manifest import read_manifests
from gristmill.runtime.composition.decode import RecordDecoder
from gristmill.runtime.composition.flows import load_flows
from gristmill.runtime.composition.scoring import build_scorer
from gristmill.runtime.composition.stores import Store
from gristmill.runtime.folder import StateFolder
from gristmill.runtime.reading.lookup import open_for_reading
from gristmill.runtime.settings import Settings
from gristmill.runtime.spec import GroupSpec

__all__ = ["open_desk", "open_desk_of"]


@asynccontextmanager
async def open_desk(folder: StateFolder, settings: Settings) -> AsyncIterator[Desk]:
    """Open a desk that lists and closes; it neither maps records nor runs plans.

    Raises:
        UsageError: nothing was ever stored there.
    """
    async with open_for_reading(folder, settings) as store:
        yield _make(store, LiveSources(store.definitions, SystemClock()), Scorer({}, resources={}, clock=SystemClock()))


@asynccontextmanager
async def open_desk_of(
    folder: StateFolder, settings: Settings, letter: DeadLetter, *, flow_files: Sequence[str] = ()
) -> AsyncIterator[Desk]:
    """Open a desk that can check and run the record of a letter.

    Raises:
        ConfigError: a flow cannot be loaded, or what its plans need is missing.
        UsageError: nothing was ever stored there.
    """
    registry = load_flows(settings, flow_files=flow_files).registry
    generators = _known_generators(folder, settings, registry)
    generator = generators.get(letter.group) or _infer(letter)
    if generator is not None:
        generators[letter.group] = generator
    wanted = letter.diagnosis.plans or (generator.plans if generator is not None else ())
    plans = {key: registry.plans[key] for key in wanted if key in registry.plans}
    async with open_for_reading(folder, settings) as store:
        feeding = [Generator(type=letter.group, topic=letter.topic, plans=tuple(plans))] if plans else []
        spec = GroupSpec(
            state_dir=str(folder.path), settings=settings, flow_files=tuple(flow_files), generators=tuple(feeding)
        )
        sources = LiveSources(store.definitions, SystemClock())
        await sources.refresh()
        scorer, readers = build_scorer(spec, registry, store)
        try:
            yield _make(store, sources, scorer, generators=generators, plans=plans)
        finally:
            scorer.close()
            for reader in readers:
                await reader.close()


def _make(
    store: Store,
    sources: LiveSources,
    scorer: Scorer,
    *,
    generators: Mapping[str, Generator] | None = None,
    plans: Mapping[str, RegisteredPlan] | None = None,
) -> Desk:
    return Desk(
        log=store.log,
        closings=store.closings,
        clock=SystemClock(),
        decode=RecordDecoder({}, sources),
        scorer=scorer,
        generators=generators or {},
        plans=plans or {},
    )


def _known_generators(folder: StateFolder, settings: Settings, registry: Registry) -> dict[str, Generator]:
    known = dict(registry.generators)
    native = native_generator(settings.api.plans)
    known[native.type] = native
    for one in read_manifests(folder.inputs_dir):
        known[one.topic] = Generator(type=one.topic, topic=one.topic, plans=one.plans, source=one.source)
    return known


def _infer(letter: DeadLetter) -> Generator | None:
    """Return what `gristmill up --topic TOPIC --plan PLANS` serves; None where the letter tells no plan."""
    plans = letter.diagnosis.plans
    if not plans:
        return None
    guess = Generator(type=letter.group, topic=letter.topic, plans=plans)
    lease = Lease(letter.topic, letter.group, letter.offset, "", 0)
    delivery = Delivery(lease, letter.value, letter.key, letter.headers, letter.attempt, letter.failed_at_ms)
    origin = read_origin(delivery, recovery_topic=recovery_topic_of(guess))
    return Generator(type=letter.group, topic=origin.topic, plans=plans)
