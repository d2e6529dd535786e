"""How much the store keeps and how much it answers; every number is a setting."""

from __future__ import annotations

import msgspec

__all__ = ["StoreLimits"]


class StoreLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of one store.

    Attributes:
        retention_ms: items and tombstones are kept so long after their time.
        skew_ms: an item created so far in the future is taken as created now; beyond that it is refused.
        items_max: items held, deleted ones included until they expire; beyond it the first to arrive go.
        cap: how deep an author's queue is ever walked, and how many items of it are kept.
        waiting_reposts_max: reposts that wait for their source, to become videos with it.
        early_decisions_max: decisions kept for items that have not arrived.
        originals, secondary, videos: items of one author that an answer may hold, by queue.
        scan: entries of one queue that a query looks at, after exclusion.
        results, video_results: items of an answer where the request does not say.
        results_max: items of any answer.
        list_max: authors, and excluded items, that a request may name.
    """

    retention_ms: int = 172_800_000
    skew_ms: int = 60_000
    items_max: int = 4_194_304
    cap: int = 5_000
    waiting_reposts_max: int = 100_000
    early_decisions_max: int = 100_000
    originals: int = 50
    secondary: int = 30
    videos: int = 100
    scan: int = 500
    results: int = 1_200
    video_results: int = 600
    results_max: int = 5_000
    list_max: int = 10_000
