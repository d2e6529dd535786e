"""The quarantine as the API shows it."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

__all__ = ["QuarantinePageView", "QuarantineQuery", "QuarantineView"]

PAGE_MAX = 200


class QuarantineQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which entries."""

    generator: Annotated[str, Meta(max_length=256)] = ""
    cursor: Annotated[str, Meta(max_length=64, description="`next` of the page before")] = ""
    limit: Annotated[int, Meta(ge=1, le=PAGE_MAX)] = 50


class QuarantineView(msgspec.Struct, frozen=True, kw_only=True):
    """A record that never became an item, with all its faults. `raw` is cut after 64 Ki characters."""

    quarantine_id: str
    source: str
    source_revision: int
    generator: str
    position: str
    at: str
    reason: str
    violations: tuple[str, ...]
    raw: str


class QuarantinePageView(msgspec.Struct, frozen=True):
    """A page by position; go on with `next` until it is null."""

    quarantine: list[QuarantineView]
    next: str | None
