"""A row for each author: the newest item of each of three queues, and how many items it holds."""

from __future__ import annotations

from typing import Literal

import numpy as np

from gristmill.domain.errors import InvariantBroken
from gristmill.recent.engine.index import Index, Keys, Rows

__all__ = ["ORIGINALS", "QUEUES", "SECONDARY", "VIDEOS", "Authors", "QueueNumber"]

QueueNumber = Literal[0, 1, 2]
ORIGINALS: QueueNumber = 0
SECONDARY: QueueNumber = 1
VIDEOS: QueueNumber = 2
QUEUES: tuple[QueueNumber, QueueNumber, QueueNumber] = (ORIGINALS, SECONDARY, VIDEOS)

AUTHOR = np.dtype([("id", "<u8"), ("heads", "<u4", (3,)), ("counts", "<u4", (3,))])


class Authors:
    """Rows of authors; a row keeps its place as long as the author has items.

    Args:
        authors_max: rows reserved, touched as authors come.
    """

    def __init__(self, authors_max: int) -> None:
        self._table = np.zeros(authors_max, AUTHOR)
        self.ids, self.heads, self.counts = self._table["id"], self._table["heads"], self._table["counts"]
        self.index = Index(lambda rows: self.ids[rows])
        self._used = 0
        self._free: list[int] = []

    @property
    def count(self) -> int:
        """Authors that have a row."""
        return self.index.live

    @property
    def room(self) -> int:
        """Rows that are free."""
        return len(self._table) - self.count

    def find(self, ids: Keys) -> Rows:
        """Return the row of each author, -1 where there is none."""
        return self.index.find(ids)

    def find_or_add(self, ids: Keys, *, none: int) -> Rows:
        """Return the row of each author, new ones included; ids may repeat.

        Args:
            none: a sequence number that is not alive.
        """
        distinct, inverse = np.unique(ids, return_inverse=True)
        rows = self.find(distinct)
        is_new = rows < 0
        if is_new.any():
            added = self._take(int(is_new.sum()))
            self.ids[added], self.heads[added], self.counts[added] = distinct[is_new], none, 0
            self.index.add(distinct[is_new], added)
            rows[is_new] = added
        return rows[inverse]

    def add_counts(self, rows: Rows, queue: QueueNumber, change: int) -> None:
        """Change the count of a queue, by `change` for each time that a row is named."""
        distinct, times = np.unique(rows, return_counts=True)
        self.counts[distinct, queue] += (times * change).astype(np.int64).astype(np.uint32)

    def slice_of(self, part: int, parts: int) -> Rows:
        """Return the rows in use whose number is `part` modulo `parts`."""
        rows = np.arange(part, self._used, parts)
        used: Rows = rows[self.find(self.ids[rows]) == rows]
        return used

    def drop(self, rows: Rows) -> None:
        """Forget authors that hold no item."""
        self.index.remove(self.ids[rows], rows)
        self._free += rows.tolist()

    def _take(self, count: int) -> Rows:
        reused = [self._free.pop() for _ in range(min(count, len(self._free)))]
        fresh = count - len(reused)
        if self._used + fresh > len(self._table):
            raise InvariantBroken("more authors than items", value=self._used)
        rows = np.array([*reused, *range(self._used, self._used + fresh)], np.int64)
        self._used += fresh
        return rows
