"""Ids of deleted items, each with the time until which it is remembered, in order of arrival."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gristmill.recent.engine.index import Index, Keys, Rows

__all__ = ["Tombstones"]

TOMBSTONE = np.dtype([("item", "<u8"), ("expires_ms", "<i8")])


class Tombstones:
    """A ring; what came first leaves first, once it has expired or where there is no room.

    Args:
        tombstones_max: rows reserved, touched as deletions come.
    """

    def __init__(self, tombstones_max: int) -> None:
        self._size = tombstones_max
        self._table = np.zeros(tombstones_max, TOMBSTONE)
        self._index = Index(lambda rows: self._table["item"][rows])
        self._tail = self._head = 0

    @property
    def count(self) -> int:
        """Ids that are remembered."""
        return self._index.live

    def has(self, ids: Keys, *, now_ms: int) -> NDArray[np.bool_]:
        """Whether items were deleted, as far as it is remembered."""
        rows = self._index.find(ids)
        has: NDArray[np.bool_] = rows >= 0
        has[has] = self._table["expires_ms"][rows[has]] >= now_ms
        return has

    def add(self, ids: Keys, expires_ms: NDArray[np.int64]) -> int:
        """Remember ids, each named once; one that is known is remembered for the longer time.

        Returns:
            How many older ones had to leave before their time.
        """
        rows = self._index.find(ids)
        known = rows[rows >= 0]
        self._table["expires_ms"][known] = np.maximum(self._table["expires_ms"][known], expires_ms[rows >= 0])
        evicted = 0
        new, expiries = ids[rows < 0], expires_ms[rows < 0]
        for start in range(0, len(new), self._size):
            some = new[start : start + self._size]
            evicted += self._make_room(len(some))
            places = (self._head + np.arange(len(some))) % self._size
            self._table["item"][places], self._table["expires_ms"][places] = some, expiries[start : start + self._size]
            self._index.add(some, places)
            self._head += len(some)
        return evicted

    def forget(self, ids: Keys) -> None:
        """Forget ids, as if they had never been deleted."""
        rows = self._index.find(ids)
        self._index.remove(ids[rows >= 0], rows[rows >= 0])

    def expire(self, *, now_ms: int, rows_max: int) -> int:
        """Forget the first ones whose time is over, `rows_max` at most; return how many rows were let go."""
        places = self._front(rows_max)
        stays = np.flatnonzero(self._is_remembered(places) & (self._table["expires_ms"][places] >= now_ms))
        gone = places[: stays[0]] if len(stays) else places
        self._let_go(gone)
        self._index.shrink()
        return len(gone)

    def ids(self) -> Keys:
        """Return all ids that are remembered."""
        places = self._front(self._size)
        ids: Keys = self._table["item"][places[self._is_remembered(places)]]
        return ids

    def _make_room(self, count: int) -> int:
        missing = self._head - self._tail + count - self._size
        if missing <= 0:
            return 0
        before = self.count
        self._let_go(self._front(missing))
        return before - self.count

    def _front(self, count: int) -> Rows:
        return (self._tail + np.arange(min(count, self._head - self._tail))) % self._size

    def _is_remembered(self, places: Rows) -> NDArray[np.bool_]:
        is_remembered: NDArray[np.bool_] = self._index.find(self._table["item"][places]) == places
        return is_remembered

    def _let_go(self, places: Rows) -> None:
        kept = places[self._is_remembered(places)]
        self._index.remove(self._table["item"][kept], kept)
        self._tail += len(places)
