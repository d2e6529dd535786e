"""Answers of probes and entries of the catalogue."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

__all__ = ["ProbeQuery", "ProbeView", "ProblemView", "ServiceView"]


class ProbeQuery(msgspec.Struct, frozen=True, kw_only=True):
    """How much to tell."""

    verbose: Annotated[str, Meta(max_length=8, description="present: the state of each service")] | None = None


class ServiceView(msgspec.Struct, frozen=True):
    """One service; the empty name is the whole group."""

    name: str
    serving: bool
    reasons: tuple[str, ...]


class ProbeView(msgspec.Struct, frozen=True, omit_defaults=True):
    """Answer of a probe: 200 when it holds, else 503 with the reasons."""

    ok: bool
    phase: str
    reasons: tuple[str, ...]
    services: tuple[ServiceView, ...] = ()


class ProblemView(msgspec.Struct, frozen=True):
    """An entry of the catalogue."""

    type: str
    title: str
    status: int
    advice: str
