"""What fills the roles that plans ask for, and who is missing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from gristmill.domain.errors import ConfigError
from gristmill.plans.registry import Registry
from gristmill.plans.resources import Need
from gristmill.ports.cache import Cache
from gristmill.ports.clock import Clock
from gristmill.ports.media import ImageClassifier, ImageEmbedder, ImageReader, MediaFetcher
from gristmill.ports.models import Embedder
from gristmill.runtime.composition.media import build_fetcher, build_reader, find_image_model
from gristmill.runtime.folder import StateFolder
from gristmill.runtime.settings import MediaSection

__all__ = ["Provider", "Surroundings", "fill_needs", "find_providers", "refuse_missing"]


class Surroundings(msgspec.Struct, frozen=True):
    """What a provider may build on."""

    folder: StateFolder
    cache: Cache
    media: MediaSection = MediaSection()


class Provider(msgspec.Struct, frozen=True):
    """Fills the needs for one port.

    Attributes:
        roles: roles that it plays; empty means any.
        build: called once in each process that needs it.
    """

    port: type[Any]
    roles: frozenset[str]
    build: Callable[[Surroundings], object]


def find_providers() -> tuple[Provider, ...]:
    """Return what this installation can offer, without building any of it."""
    return (
        Provider(Cache, frozenset(), lambda around: around.cache),
        Provider(Embedder, TEXT_ROLES, _build_embedder),
        Provider(MediaFetcher, IMAGE_ROLES, lambda around: build_fetcher(around.media)),
        Provider(ImageReader, IMAGE_ROLES, lambda around: build_reader(around.media)),
        Provider(ImageClassifier, frozenset({"default", "nudity"}), lambda around: find_image_model()),
        Provider(ImageEmbedder, frozenset({"default", "copies"}), lambda around: find_image_model()),
    )


def refuse_missing(registry: Registry, providers: tuple[Provider, ...]) -> None:
    """Check that every need of the enabled plans can be filled.

    Raises:
        ConfigError: one cannot; names plan, port and role.
    """
    for need, plan in registry.needs().items():
        if need.port is not Clock and _find(need, providers) is None:
            offered = sorted({role for each in providers if each.port is need.port for role in each.roles})
            advice = f"roles that are played: {', '.join(offered) or 'none'}; configure one, or disable the plan's flow"
            raise ConfigError(f"plan {plan!r} needs {need.port.__name__} {need.role!r}", advice=advice)


def fill_needs(registry: Registry, providers: tuple[Provider, ...], around: Surroundings) -> Mapping[Need, object]:
    """Build what the enabled plans need, and nothing else; one object a provider."""
    built: dict[int, object] = {}
    filled: dict[Need, object] = {}
    for need in registry.needs():
        provider = _find(need, providers)
        if provider is not None:
            if id(provider) not in built:
                built[id(provider)] = provider.build(around)
            filled[need] = built[id(provider)]
    return filled


def _find(need: Need, providers: tuple[Provider, ...]) -> Provider | None:
    matching = (each for each in providers if each.port is need.port)
    return next((each for each in matching if not each.roles or need.role in each.roles), None)


def _build_embedder(around: Surroundings) -> object:
    from gristmill.adapters.local_models import StaticEmbedder

    return StaticEmbedder()


IMAGE_ROLES = frozenset({"default", "images"})
TEXT_ROLES = frozenset({"default", "text", "tier0"})
