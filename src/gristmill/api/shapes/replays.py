"""Ranges of changes that are told again, as the API takes and counts them."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

__all__ = ["ReplayPreviewView", "ReplayQuery", "ReplayRequest"]

Place = Annotated[
    str,
    Meta(
        min_length=1, max_length=64, description="`earliest`, `now`, a position, or a time such as 2026-11-30T12:00:00Z"
    ),
]


class ReplayRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Tell again what changed behind `since`, up to `until`."""

    since: Place
    until: Place = "now"


class ReplayQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which range would be told again, of whose subscription."""

    since: Place = "earliest"
    until: Place = "now"
    tenant: Annotated[str, Meta(max_length=120, description="whose; the caller's own where it is left out")] = ""


class ReplayPreviewView(msgspec.Struct, frozen=True, kw_only=True):
    """What a replay would tell again; nothing was changed.

    `changes` and `items` lie in the range behind `first`, up to `last`; `wanted` of the items fulfil the condition as
    they stand now. Unless `complete`, only the beginning of the range was looked at.
    """

    first: int
    last: int
    changes: int
    items: int
    wanted: int
    complete: bool
