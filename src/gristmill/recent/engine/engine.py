"""What the store needs of an engine. An engine has no clock: it is told the time, and what has expired by then."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from gristmill.recent.core.answer import ItemRows
from gristmill.recent.core.event import EventRows
from gristmill.recent.core.request import Ids, Query
from gristmill.recent.core.tally import Name

__all__ = ["Counts", "Engine", "Found", "Held", "Removed", "Sizes"]

Counts = list[tuple[Name, int]]


class Removed(msgspec.Struct, frozen=True):
    """What deletions met.

    Attributes:
        hidden: ids of those items that were held and hidden.
        counts: facts beside the deletions.
    """

    hidden: Ids
    counts: Counts


class Found(msgspec.Struct, frozen=True):
    """Items that a query selects, newest first; `partial` where it was broken off."""

    rows: ItemRows
    visited: int
    partial: bool


class Held(msgspec.Struct, frozen=True):
    """How many items authors hold: `uint32[n]` each, in the order asked for; 0 for authors that are not known."""

    originals: NDArray[np.uint32]
    secondary: NDArray[np.uint32]
    videos: NDArray[np.uint32]


class Sizes(msgspec.Struct, frozen=True):
    """What an engine holds.

    Attributes:
        rows: in use, deleted ones included until they expire.
        bytes: of all that grows with items, reserved memory that was never touched left out.
    """

    items: int
    rows: int
    authors: int
    tombstones: int
    originals: int
    secondary: int
    videos: int
    bytes: int


class Engine(Protocol):
    """Items of all authors. One writer; whoever reads does so between two writes."""

    name: str

    def insert(self, items: EventRows, *, now_ms: int, cutoff_ms: int) -> Counts:
        """Take items in, in the order of the log; return their outcomes and facts beside them.

        Args:
            items: events that carry an item, none of them expired.
            cutoff_ms: what was created before has expired.
        """
        ...

    def delete(self, ids: Ids, expires_ms: NDArray[np.int64], *, cutoff_ms: int) -> Removed:
        """Remove items, each named once, and remember until a time that they were deleted."""
        ...

    def forget_tombstones(self, ids: Ids) -> None:
        """Let deleted ids come again."""
        ...

    def decide(self, item: int, *, hide: bool | None, set: int, clear: int, cutoff_ms: int) -> bool:
        """Hide or show an item and change its label bits; False where it is not held."""
        ...

    def latest(self, query: Query, *, now_ms: int, is_over: Callable[[], bool]) -> Found:
        """Return the newest items of authors by the rules of `Query`; broken off once `is_over`."""
        ...

    def get(self, ids: Ids, *, cutoff_ms: int) -> ItemRows:
        """Return those items that are held, in the order asked for; hidden ones included."""
        ...

    def newest(self, authors: Ids, *, cutoff_ms: int) -> NDArray[np.int64]:
        """Return when each author's newest item was created, deleted ones included; 0 where there is none."""
        ...

    def held(self, authors: Ids) -> Held:
        """Return how many items authors hold."""
        ...

    def expire(self, *, now_ms: int, cutoff_ms: int, rows_max: int) -> int:
        """Let go of items and tombstones whose time is over, `rows_max` at most; return how many were."""
        ...

    def sweep(self, part: int, parts: int) -> Counts:
        """Trim queues that are over the cap and forget authors without items, of one part of all authors."""
        ...

    def sweep_deleted(self, *, now_ms: int) -> int:
        """Look for items that are held though they were deleted, remove them, and return how many there were."""
        ...

    def sizes(self) -> Sizes:
        """Return what is held; takes no time that grows with it."""
        ...
