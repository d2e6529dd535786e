"""Which flows take part, and which part of them a group needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from gristmill.domain.errors import ConfigError
from gristmill.plans.plan import Flow, Generator
from gristmill.plans.registry import Registry, build_registry, discover_flows, load_flow_file
from gristmill.runtime.composition.heads import HeadShelf
from gristmill.runtime.folder import StateFolder
from gristmill.runtime.settings import MediaSection, Settings

__all__ = [
    "SCREEN",
    "LoadedFlows",
    "flows_of",
    "load_flows",
    "refuse_without_generators",
    "used_part",
]

SCREEN = "screen"


class LoadedFlows(NamedTuple):
    """The enabled flows, checked; and the names of those that came from files of the command line."""

    registry: Registry
    file_flows: tuple[str, ...]


def load_flows(settings: Settings, *, flow_files: Sequence[str] = ()) -> LoadedFlows:
    """Return the enabled flows, checked against each other.

    Flows of files that the command line names take part whether they are enabled or not.

    Raises:
        ConfigError: see `plans.registry`.
    """
    flows = [_apply_settings(flow, settings) for flow in discover_flows()]
    for path in settings.flows.paths:
        flows += load_flow_file(Path(path))
    asked = [flow for path in dict.fromkeys(flow_files) for flow in load_flow_file(Path(path))]
    names = tuple(flow.name for flow in asked)
    enabled = [*settings.flows.enabled, *names] if settings.flows.enabled else None
    return LoadedFlows(build_registry([*flows, *asked], enabled=enabled), names)


def _apply_settings(flow: Flow, settings: Settings) -> Flow:
    """Return the shipped flow `screen` with the rules, head and media that were set; any other flow as it is."""
    if flow.name != SCREEN:
        return flow
    section, media = settings.screen, settings.media
    head = section.head or HeadShelf(StateFolder(Path(settings.main.state_dir))).active_path()
    if not section.rules and not head and media == MediaSection():
        return flow
    from gristmill.flows.screen import ImageOptions, build_plan

    images = ImageOptions(media.on_error, media.nsfw_score, media.match_lists) if media.enabled else None
    return Flow(flow.name, plans=[build_plan(rules=section.rules, head=head, images=images)], writes=flow.writes)


def used_part(registry: Registry, generators: Sequence[Generator]) -> Registry:
    """Return the registry with the plans that these generators feed, so that only their needs are filled."""
    used = {key for generator in generators for key in generator.plans}
    plans = {key: plan for key, plan in registry.plans.items() if key in used}
    # A plan that one of these generators feeds needs no warning, whoever brought the generator.
    warnings = tuple(text for text in registry.warnings if not any(repr(key) in text for key in used))
    return Registry(registry.flows, plans, {generator.type: generator for generator in generators}, warnings)


def flows_of(registry: Registry, generators: Sequence[Generator]) -> Mapping[str, Sequence[str]]:
    """Return flow name -> types of the generators that feed its plans."""
    found: dict[str, list[str]] = {}
    for generator in generators:
        for flow in dict.fromkeys(registry.plans[key].flow for key in generator.plans):
            found.setdefault(flow, []).append(generator.type)
    return found


def refuse_without_generators(generators: Sequence[Generator]) -> None:
    """Refuse to start a group that would have nothing to do.

    Raises:
        ConfigError: there is no generator.
    """
    if not generators:
        advice = "enable a flow that has generators, or name a topic: gristmill up --topic TOPIC --plan KEY"
        raise ConfigError("nothing feeds this group: no generator", advice=advice)
