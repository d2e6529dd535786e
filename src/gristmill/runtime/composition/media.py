"""Builds what looks at pictures from what was set. Everything loads with the first picture, and not before."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.egress import AddressPolicy, EgressMetrics, GuardedEgress
from gristmill.adapters.media import (
    ChildImageReader,
    FetchLimits,
    GuardedFetcher,
    NothingInstalled,
    OpenNsfw,
    ReaderLimits,
    ReaderMetrics,
    is_media_installed,
)
from gristmill.runtime.settings import MediaSection

__all__ = ["egress_metrics", "build_fetcher", "build_reader", "find_image_model"]


def build_fetcher(media: MediaSection) -> GuardedFetcher | NothingInstalled:
    """Return the fetcher of one engine.

    Raises:
        ConfigError: an entry of the allow-list is none.
    """
    policy = AddressPolicy(media.allow, ports=media.ports)
    if not is_media_installed():
        return NothingInstalled()
    limits = FetchLimits(bytes_max=media.image_bytes_max, bodies=media.fetches)
    folder = Path(media.folder) if media.folder else None
    egress = GuardedEgress(policy, metrics=egress_metrics())
    return GuardedFetcher(egress, clock=SystemClock(), folder=folder, limits=limits)


def build_reader(media: MediaSection) -> ChildImageReader | NothingInstalled:
    """Return the reader of one engine; `close` ends its processes."""
    if not is_media_installed():
        return NothingInstalled()
    return ChildImageReader(metrics=_reader_metrics(), limits=ReaderLimits(children=media.decoders))


@cache
def find_image_model() -> OpenNsfw:
    """Return the one model of this process, which classifies and embeds in one pass."""
    return OpenNsfw()


# Engines of one process count together: a name can be registered once.
@cache
def egress_metrics() -> EgressMetrics:
    """Return what this process counts of its outgoing connections."""
    return EgressMetrics()


@cache
def _reader_metrics() -> ReaderMetrics:
    return ReaderMetrics()
