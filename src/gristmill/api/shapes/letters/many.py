"""Dead letters of one cause together, and those that were closed, as the API shows and takes them."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from gristmill.domain.upkeep.closing import ClosingKind

__all__ = [
    "CauseView",
    "CausesQuery",
    "CausesView",
    "ClosedDetailView",
    "ClosedPageView",
    "ClosedQuery",
    "ClosedView",
    "ManyClosedView",
    "ManyRequest",
]

CLOSED_PER_CALL_MAX = 500
"""Of one call; as many calls as are needed tell how far it is."""

PAGE_MAX = 200
REASON_CHARS_MAX = 500


class CausesQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which dead letters."""

    topic: Annotated[str, Meta(max_length=256)] = ""
    group: Annotated[str, Meta(max_length=256)] = ""


class CauseView(msgspec.Struct, frozen=True, kw_only=True):
    """Open dead letters of the same plans, task and error. `newest` is the number of the newest of them."""

    cause: str
    count: int
    plans: tuple[str, ...]
    task: str
    error_class: str
    error: str
    first_failed_at: str
    last_failed_at: str
    newest: str


class CausesView(msgspec.Struct, frozen=True, kw_only=True):
    """Causes, that of the newest failure first; `complete` unless only the oldest letters were looked at."""

    causes: list[CauseView]
    complete: bool


class ManyRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Close letters of a cause as they were shown: there must still be `count` of them up to the number `newest`."""

    count: Annotated[int, Meta(ge=1)]
    newest: Annotated[str, Meta(pattern="^[0-9]{1,19}$", description="as the cause tells it")]
    limit: Annotated[int, Meta(ge=1, le=CLOSED_PER_CALL_MAX, description="closed by this call at most")] = (
        CLOSED_PER_CALL_MAX
    )
    reason: Annotated[str, Meta(max_length=REASON_CHARS_MAX, description="kept with the token's name")] = ""


class ManyClosedView(msgspec.Struct, frozen=True, kw_only=True):
    """How many were closed by this call; call again with `left` as `count` until none is."""

    closed: int
    left: int


class ClosedQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which of them."""

    cursor: Annotated[str, Meta(max_length=64, description="`next` of the page before")] = ""
    limit: Annotated[int, Meta(ge=1, le=PAGE_MAX)] = 50


class ClosedView(msgspec.Struct, frozen=True, kw_only=True):
    """A dead letter that somebody has requeued, edited or dropped."""

    closing_id: str
    status: ClosingKind
    at: str
    actor: str
    reason: str
    dead_letter_id: str
    topic: str
    group: str
    offset: str
    plans: tuple[str, ...]
    task: str
    error_class: str
    error: str


class ClosedPageView(msgspec.Struct, frozen=True, kw_only=True):
    """A page, the newest first; go on with `next` until it is null."""

    closed: list[ClosedView]
    next: str | None


class ClosedDetailView(msgspec.Struct, frozen=True, kw_only=True):
    """With the payloads of one that was edited, each cut after 64 Ki characters."""

    closed: ClosedView
    original: str
    edited: str
