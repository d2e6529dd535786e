"""Sources as the API shows and takes them."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from gristmill.ports.definitions import DEFINITION_BYTES_MAX

__all__ = ["PublishSourceRequest", "PublishedSourceView", "SourceView", "SourcesView"]


class SourceView(msgspec.Struct, frozen=True, kw_only=True):
    """The latest revision of a Source."""

    name: str
    tenant: str
    revision: int
    hash: str
    published_at: str
    actor: str
    definition: str


class SourcesView(msgspec.Struct, frozen=True):
    """All Sources by tenant and name."""

    sources: list[SourceView]


class PublishSourceRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A Source file, and which revision it follows (0: there must be none yet)."""

    definition: Annotated[str, Meta(min_length=1, max_length=DEFINITION_BYTES_MAX, description="the file, as YAML")]
    expected_revision: Annotated[int, Meta(ge=0)] | None = None


class PublishedSourceView(msgspec.Struct, frozen=True):
    """Published; running groups map by it within seconds."""

    name: str
    tenant: str
    revision: int
    hash: str
