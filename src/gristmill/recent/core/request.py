"""What a query asks, and how it is brought into bounds before an engine sees it."""

from __future__ import annotations

from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from gristmill.domain.errors import UsageError
from gristmill.recent.core.event import ItemKind
from gristmill.recent.core.limits import StoreLimits

__all__ = ["ALGORITHMS", "ALL_KINDS", "Ids", "LatestRequest", "Place", "Query", "bound_request"]

Ids = NDArray[np.uint64]
ALGORITHMS = ("", "recent", "default", "latest")
"""All of them mean newest first; there is no other order."""

ALL_KINDS = ItemKind.ORIGINAL | ItemKind.REPLY | ItemKind.REPOST


class Place(msgspec.Struct, frozen=True, array_like=True):
    """A place in the order of all items, which is by time and then by id."""

    at_ms: int
    item: int


class LatestRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Asks for the newest items of authors.

    Attributes:
        authors: `uint64[n]`; what is named twice counts once, what is beyond the limit is left out and told.
        requester: whoever reads; 0 for nobody. Reposts of own items are left out.
        exclude: `uint64[n]`, items that are not wanted.
        results: wanted at most; 0 for the usual number.
        kinds: bits of `ItemKind`.
        tags_any: label bits of which one at least must be set; 0 for any item.
        tags_none: label bits of which none may be set.
        before, since: only items older than the one place, and newer than the other.
        originals, secondary, videos: items of one author, which may lower the usual numbers and never raise them.
        algorithm: one of `ALGORITHMS`.
    """

    authors: Ids
    requester: int = 0
    exclude: Ids = np.zeros(0, np.uint64)
    results: int = 0
    mode: Literal["timeline", "video"] = "timeline"
    kinds: int = ALL_KINDS
    tags_any: int = 0
    tags_none: int = 0
    before: Place | None = None
    since: Place | None = None
    originals: int | None = None
    secondary: int | None = None
    videos: int | None = None
    include_hidden: bool = False
    algorithm: str = ""


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """A request within bounds, as engines take it.

    Attributes:
        authors: sorted, each once.
        exclude: sorted, each once.
        per_author: of originals, secondary and videos; 0 leaves a queue out.
        cutoff_ms: items created before it have expired.
        truncated: whether one of the lists was cut.
    """

    authors: Ids
    requester: int
    exclude: Ids
    results: int
    is_video: bool
    kinds: int
    tags_any: int
    tags_none: int
    before: Place | None
    since: Place | None
    per_author: tuple[int, int, int]
    scan: int
    cap: int
    include_hidden: bool
    cutoff_ms: int
    truncated: bool


def bound_request(
    request: LatestRequest, limits: StoreLimits, *, now_ms: int, never_serve: frozenset[int] = frozenset()
) -> Query:
    """Return a request within its bounds.

    Raises:
        UsageError: an algorithm that does not exist.
    """
    if request.algorithm not in ALGORITHMS:
        raise UsageError("algorithm", value=request.algorithm, advice=f"one of {', '.join(ALGORITHMS[1:])}, or none")
    authors, exclude = np.unique(request.authors[: limits.list_max]), np.unique(request.exclude[: limits.list_max])
    if never_serve:
        authors = authors[~np.isin(authors, np.array(sorted(never_serve), np.uint64))]
    is_video = request.mode == "video"
    usual = limits.video_results if is_video else limits.results
    wanted = request.results if request.results > 0 else usual
    return Query(
        authors=authors,
        requester=request.requester,
        exclude=exclude,
        results=min(wanted, limits.results_max),
        is_video=is_video,
        kinds=request.kinds,
        tags_any=request.tags_any,
        tags_none=request.tags_none,
        before=request.before,
        since=request.since,
        per_author=_per_author(request, limits, is_video=is_video),
        scan=limits.scan,
        cap=limits.cap,
        include_hidden=request.include_hidden,
        cutoff_ms=now_ms - limits.retention_ms,
        truncated=max(len(request.authors), len(request.exclude)) > limits.list_max,
    )


def _per_author(request: LatestRequest, limits: StoreLimits, *, is_video: bool) -> tuple[int, int, int]:
    if is_video:
        return (0, 0, _lower(request.videos, limits.videos))
    return (_lower(request.originals, limits.originals), _lower(request.secondary, limits.secondary), 0)


def _lower(asked: int | None, limit: int) -> int:
    return limit if asked is None else max(0, min(asked, limit))
