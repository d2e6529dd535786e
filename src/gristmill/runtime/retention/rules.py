"""Settings and generators as rules of retention."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from gristmill.domain.upkeep.retention import RetentionRules
from gristmill.domain.upkeep.topics import LossyRule
from gristmill.engine.settings import recovery_topic_of
from gristmill.plans.plan import Generator
from gristmill.runtime.batch.naming import TOPIC_START
from gristmill.runtime.settings import RetentionSection

__all__ = ["rules_of"]

MS_PER_DAY = 86_400_000


def rules_of(
    section: RetentionSection, generators: Iterable[Generator], *, lossy: Mapping[str, LossyRule] | None = None
) -> RetentionRules:
    """Return what may go, where these generators claim."""
    groups: defaultdict[str, set[str]] = defaultdict(set)
    for generator in generators:
        groups[generator.topic].add(generator.type)
        groups[recovery_topic_of(generator)].add(generator.type)

    def ms(days: float) -> int:
        return round(days * MS_PER_DAY)

    return RetentionRules(
        inputs_ms=ms(section.inputs_days),
        letters_ms=ms(section.letters_days),
        events_ms=ms(section.events_days),
        runs_ms=ms(section.runs_days),
        quarantine_ms=ms(section.quarantine_days),
        items_ms=ms(section.items_days),
        input_topics=TOPIC_START,
        groups={topic: tuple(sorted(names)) for topic, names in groups.items()},
        lossy=dict(lossy or {}),
        abandoned_ms=ms(section.abandoned_days),
    )
