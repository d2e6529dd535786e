"""Answers to queries for recent items."""

from __future__ import annotations

import msgspec

from gristmill.api.recent.shapes import KindName

__all__ = [
    "BadView",
    "ItemsView",
    "LatestView",
    "NewestView",
    "PlaceView",
    "RecentItemView",
    "StatsView",
]


class RecentItemView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A light record; what an item has not is left out."""

    item_id: str
    author_id: str
    created_at_ms: int
    kinds: tuple[KindName, ...]
    is_video: bool = False
    is_hidden: bool = False
    in_reply_to_item: str = ""
    in_reply_to_author: str = ""
    source_item: str = ""
    source_author: str = ""
    conversation_id: str = ""
    labels: int = 0
    tag: int = 0


class PlaceView(msgspec.Struct, frozen=True):
    """As `PlaceBody`: give it as `before` for the next page."""

    created_at_ms: int
    item_id: str


class LatestView(msgspec.Struct, frozen=True, kw_only=True):
    """The items, newest first.

    `partial`: the time was up before everything was looked at. `stale`: newer items are known to wait. `truncated`: a
    list was longer than what is looked at. `as_of_ms`: when the newest record behind the answer was appended.
    """

    items: tuple[RecentItemView, ...]
    partial: bool
    stale: bool
    truncated: bool
    as_of_ms: int
    next: PlaceView | None


class ItemsView(msgspec.Struct, frozen=True, kw_only=True):
    """Those that are held, and the ids of those that are not."""

    items: tuple[RecentItemView, ...]
    missing: tuple[str, ...]


class NewestView(msgspec.Struct, frozen=True, kw_only=True):
    """When each author's newest item was created (UTC epoch milliseconds), by author; who holds none is left out."""

    newest: dict[str, int]


class BadView(msgspec.Struct, frozen=True):
    """A record that could not be used: its offset, why, and how it begins."""

    offset: int
    reason: str
    value: bytes


class StatsView(msgspec.Struct, frozen=True, kw_only=True):
    """How the store is: its state, what it holds, and what became of the events that it read."""

    state: str
    engine: str
    records_read: int
    records_at_start: int
    records_behind: int
    init_ms: int
    as_of_ms: int
    is_degraded: bool
    sizes: dict[str, int]
    events: dict[str, int]
    bad: tuple[BadView, ...]
