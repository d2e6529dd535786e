"""What the main process needs to run plans itself, for somebody who waits for the answer."""

from __future__ import annotations

from contextlib import suppress

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.media import ChildImageReader
from gristmill.domain.intake import MappedRecord
from gristmill.engine.scoring import Scorer
from gristmill.plans.registry import Registry
from gristmill.runtime.composition.flows import SCREEN, used_part
from gristmill.runtime.composition.resources import Surroundings, fill_needs, find_providers
from gristmill.runtime.composition.stores import Store
from gristmill.runtime.spec import GroupSpec

__all__ = ["build_scorer", "warm_up"]

WARM_TEXT = "Nobody wrote this: see https://example.org/"
WARM_TIMEOUT_MS = 60_000


def build_scorer(spec: GroupSpec, registry: Registry, store: Store) -> tuple[Scorer, list[ChildImageReader]]:
    """Return a scorer for the plans that this group serves, and what must be closed with it."""
    used = used_part(registry, spec.generators)
    surroundings = Surroundings(spec.folder, store.cache, spec.settings.media)
    resources = fill_needs(used, find_providers(), surroundings)
    environment = spec.settings.main.environment
    scorer = Scorer(used.plans, resources=resources, clock=SystemClock(), environment=environment)
    return scorer, [one for one in resources.values() if isinstance(one, ChildImageReader)]


async def warm_up(scorer: Scorer, registry: Registry) -> None:
    """Have the shipped plans load what they load with the first text, so that no caller waits for it.

    Plans of others are left alone: what they do with a text that nobody wrote is theirs to say.
    """
    record = MappedRecord(input_id="", kind="comment", source="", text=WARM_TEXT)
    for key, plan in registry.plans.items():
        if plan.flow == SCREEN:
            with suppress(TimeoutError):
                await scorer.score(key, record, timeout_ms=WARM_TIMEOUT_MS)
