"""What becomes of a raw event: a compact event, or a reason why it is left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from gristmill.recent.core.event import Event, EventKind, Flag
from gristmill.recent.core.feed.raw import Medium, RawEvent

__all__ = ["DROP_REASONS", "DropReason", "FeedRules", "decide_event", "has_video"]

DropReason = Literal["unlisted", "delete_too_old", "kind", "create_too_old", "malformed"]
DROP_REASONS: tuple[DropReason, ...] = ("unlisted", "delete_too_old", "kind", "create_too_old", "malformed")

KINDS: dict[str, EventKind] = {
    "create": EventKind.CREATE,
    "delete": EventKind.DELETE,
    "quoted_delete": EventKind.DELETE,
    "hide": EventKind.HIDE,
    "restore": EventKind.RESTORE,
    "label": EventKind.LABEL,
    "undelete": EventKind.UNDELETE,
}
"""Kinds that change what is served; every other kind of content event is left out."""


class FeedRules(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds of what is fed.

    Attributes:
        retention_ms: what is older is held by nobody.
        video_ms_min: a shorter video is none.
    """

    retention_ms: int = 172_800_000
    video_ms_min: int = 5_000


def decide_event(raw: RawEvent, rules: FeedRules, *, now_ms: int) -> Event | DropReason:
    """Return what a raw event becomes. Deletions and decisions happen now, when they are read."""
    kind = KINDS.get(raw.kind)
    if kind is None:
        return "kind"
    if kind in (EventKind.CREATE, EventKind.UNDELETE):
        return _decide_item(raw, kind, rules, now_ms=now_ms)
    if kind == EventKind.DELETE and raw.created_ms is not None and now_ms - raw.created_ms > rules.retention_ms:
        return "delete_too_old"
    # Whoever quotes an item that was deleted would show what is not there.
    item = raw.quoting_item if raw.kind == "quoted_delete" else raw.item
    if not item:
        return "malformed"
    return Event(
        kind=kind,
        item=item,
        author=raw.author or 0,
        at_ms=now_ms,
        set=raw.set if kind == EventKind.LABEL else 0,
        clear=raw.clear if kind == EventKind.LABEL else 0,
        reason=raw.reason if kind == EventKind.HIDE else 0,
    )


def has_video(media: Sequence[Medium], *, video_ms_min: int) -> bool:
    """Whether an item is a video: its only medium is one that is known to be long enough."""
    if len(media) != 1 or media[0].type != "video":
        return False
    return media[0].duration_ms is not None and media[0].duration_ms >= video_ms_min


def _decide_item(raw: RawEvent, kind: EventKind, rules: FeedRules, *, now_ms: int) -> Event | DropReason:
    if raw.is_unlisted:
        return "unlisted"
    if not raw.item or raw.author is None or raw.created_ms is None:
        return "malformed"
    if now_ms - raw.created_ms > rules.retention_ms:
        return "create_too_old"
    is_reply = raw.is_reply or bool(raw.answered_item or raw.answered_author)
    is_video = has_video(raw.media, video_ms_min=rules.video_ms_min)
    return Event(
        kind=kind,
        item=raw.item,
        author=raw.author,
        at_ms=raw.created_ms,
        flags=is_reply * Flag.REPLY | raw.is_repost * Flag.REPOST | is_video * Flag.VIDEO,
        tag=raw.tag,
        answered_item=raw.answered_item,
        answered_author=raw.answered_author,
        source_item=raw.source_item if raw.is_repost else 0,
        source_author=raw.source_author if raw.is_repost else 0,
        conversation=raw.conversation,
    )
