"""Queries for recent items."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

__all__ = ["GetBody", "IdList", "KindName", "LatestBody", "LimitsBody", "NewestBody", "PlaceBody"]

IDS_MAX = 1_000

Id = Annotated[int, Meta(ge=0)] | Annotated[str, Meta(pattern=r"^[0-9]{1,20}$")]
Count = Annotated[int, Meta(ge=0, le=10_000)]
Bits = Annotated[int, Meta(ge=0, le=0xFFFF)]
IdList = tuple[Id, ...] | bytes
"""Ids as decimal strings or numbers, or as base64 of little-endian 64-bit numbers, which is read many times as fast."""

KindName = Literal["original", "reply", "repost"]


class PlaceBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A place in the order of items: a time (UTC epoch milliseconds), and the id of the item there."""

    created_at_ms: Annotated[int, Meta(ge=0, le=2**53)]
    item_id: Id


class LimitsBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Items of one author at most; lower than usual, never higher."""

    originals: Count | None = None
    secondary: Count | None = None
    videos: Count | None = None


class LatestBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whose newest items are wanted, and which of them."""

    authors: IdList
    requester: Id = 0
    exclude: IdList = ()
    max_results: Annotated[int, Meta(ge=0)] = 0
    mode: Literal["timeline", "video"] = "timeline"
    kinds: tuple[KindName, ...] = ()
    tags_any: Bits = 0
    tags_none: Bits = 0
    limits: LimitsBody = LimitsBody()
    before: PlaceBody | None = None
    since: PlaceBody | None = None
    include_hidden: bool = False
    algorithm: Annotated[str, Meta(max_length=32)] = ""
    deadline_ms: Annotated[int, Meta(ge=0, le=60_000)] = 0
    format: Literal["records", "packed"] = "records"


class GetBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which items."""

    items: Annotated[tuple[Id, ...], Meta(min_length=1, max_length=IDS_MAX)]


class NewestBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which authors."""

    authors: IdList
