"""Turns queries into those of the store, and its items into what the outside sees."""

from __future__ import annotations

import numpy as np

from gristmill.api.problems import Fault, problem
from gristmill.api.recent.answers import LatestView, PlaceView, RecentItemView
from gristmill.api.recent.shapes import IdList, KindName, LatestBody, PlaceBody
from gristmill.recent import Answer, Flag, ItemKind, LatestRequest, Place
from gristmill.recent.core.answer import ItemRows
from gristmill.recent.core.request import ALL_KINDS, Ids

__all__ = ["read_ids", "read_request", "view_answer", "view_items"]

UINT64_MAX = 2**64 - 1
HIDDEN = 16
KINDS = {"original": ItemKind.ORIGINAL, "reply": ItemKind.REPLY, "repost": ItemKind.REPOST}
KINDS_BY_FLAGS: tuple[tuple[KindName, ...], ...] = (("original",), ("reply",), ("repost",), ("reply", "repost"))


def read_ids(name: str, given: IdList) -> Ids:
    """Return ids as an array.

    Raises:
        ProblemRaised: `validation`: one of them is none.
    """
    if isinstance(given, bytes):
        if len(given) % 8:
            raise problem("validation", name, errors=[Fault(f"/{name}", "is no whole number of 8-byte ids")])
        return np.frombuffer(given, "<u8").astype(np.uint64)
    return np.array([_read_id(name, one) for one in given], np.uint64)


def read_request(body: LatestBody) -> LatestRequest:
    """Return a query as the store takes it.

    Raises:
        ProblemRaised: `validation`: an id is none.
    """
    kinds = 0
    for name in body.kinds:
        kinds |= KINDS[name]
    return LatestRequest(
        authors=read_ids("authors", body.authors),
        requester=_read_id("requester", body.requester),
        exclude=read_ids("exclude", body.exclude),
        results=body.max_results,
        mode=body.mode,
        kinds=kinds or ALL_KINDS,
        tags_any=body.tags_any,
        tags_none=body.tags_none,
        before=_read_place("before", body.before),
        since=_read_place("since", body.since),
        originals=body.limits.originals,
        secondary=body.limits.secondary,
        videos=body.limits.videos,
        include_hidden=body.include_hidden,
        algorithm=body.algorithm,
    )


def view_items(rows: ItemRows) -> tuple[RecentItemView, ...]:
    """Return items as the outside sees them."""
    return tuple([_view_item(*values) for values in rows.tolist()])


def view_answer(answer: Answer, *, as_of_ms: int) -> LatestView:
    """Return an answer as the outside sees it."""
    items = view_items(answer.rows)
    return LatestView(
        items=items,
        partial=answer.partial,
        stale=answer.stale,
        truncated=answer.truncated,
        as_of_ms=as_of_ms,
        next=PlaceView(items[-1].created_at_ms, items[-1].item_id) if items else None,
    )


def _view_item(*values: int) -> RecentItemView:
    item, author, at_ms, answered, answered_author, source, source_author, conversation, labels, flags, tag = values
    return RecentItemView(
        item_id=str(item),
        author_id=str(author),
        created_at_ms=at_ms,
        kinds=KINDS_BY_FLAGS[flags & (Flag.REPLY | Flag.REPOST)],
        is_video=bool(flags & Flag.VIDEO),
        is_hidden=bool(flags & HIDDEN),
        in_reply_to_item=str(answered or ""),
        in_reply_to_author=str(answered_author or ""),
        source_item=str(source or ""),
        source_author=str(source_author or ""),
        conversation_id=str(conversation or ""),
        labels=labels,
        tag=tag,
    )


def _read_place(name: str, place: PlaceBody | None) -> Place | None:
    return None if place is None else Place(place.created_at_ms, _read_id(name, place.item_id))


def _read_id(name: str, given: int | str) -> int:
    if int(given) > UINT64_MAX:
        raise problem("validation", name, errors=[Fault(f"/{name}", "is above 2^64 - 1")])
    return int(given)
