"""Rows of items in order of arrival: what came first leaves first, and a row is overwritten when the ring comes round.

An item is known by its 32-bit sequence number; its row is that number modulo the rows. It is alive while it lies
between tail and head, so a link to a row that was overwritten is recognised and never followed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gristmill.recent.core.event import EventRows, Flag
from gristmill.recent.engine.index import Index, Keys, Rows

__all__ = [
    "BOTH",
    "IS_DELETED",
    "IS_HIDDEN",
    "IS_IN_VIDEO",
    "IS_REPLY",
    "IS_REPOST",
    "IS_VIDEO",
    "ROW_BYTES",
    "ItemRing",
    "Sequences",
]

Sequences = NDArray[np.uint32]

IS_REPLY, IS_REPOST, IS_VIDEO = int(Flag.REPLY), int(Flag.REPOST), int(Flag.VIDEO)
IS_IN_VIDEO, IS_HIDDEN, IS_DELETED = 8, 16, 32
"""Bits of an item: those of `Flag` first."""

BOTH = IS_REPLY | IS_REPOST
SEQUENCE_MASK = 2**32 - 1

HOT = np.dtype(
    [
        ("item", "<u8"),
        ("seconds", "<u4"),
        ("author", "<u4"),
        ("prev", "<u4"),
        ("prev_video", "<u4"),
        ("flags", "<u2"),
        ("ms", "<u2"),
        ("labels", "<u2"),
        ("tag", "u1"),
        ("spare", "u1"),
    ]
)
"""32 bytes, two to a cache line; `author` is a row of the table of authors, `prev` are sequence numbers."""

COLD = np.dtype([("item", "<u8"), ("author", "<u8"), ("conversation", "<u8")])
"""Answered item and author; of a repost that answers nobody, source item and author."""

ROW_BYTES = HOT.itemsize + COLD.itemsize


class ItemRing:
    """The rows, and which of them are alive. Memory is reserved at once and touched as items come."""

    def __init__(self, items_max: int) -> None:
        self.size = 1 << max(0, items_max - 1).bit_length()
        hot, cold = np.zeros(self.size, HOT), np.zeros(self.size, COLD)
        # Columns are views into the rows: to gather whole rows at once takes numpy a hundred times as long.
        self.items: Keys = hot["item"]
        self.seconds: NDArray[np.uint32] = hot["seconds"]
        self.ms: NDArray[np.uint16] = hot["ms"]
        self.authors: NDArray[np.uint32] = hot["author"]
        self.prev: Sequences = hot["prev"]
        self.prev_video: Sequences = hot["prev_video"]
        self.flags: NDArray[np.uint16] = hot["flags"]
        self.labels: NDArray[np.uint16] = hot["labels"]
        self.tags: NDArray[np.uint8] = hot["tag"]
        self.related_items: Keys = cold["item"]
        self.related_authors: Keys = cold["author"]
        self.conversations: Keys = cold["conversation"]
        self.ids = Index(lambda rows: self.items[rows])
        self.sources: dict[int, tuple[int, int]] = {}
        """By sequence number: the source of items that are reply and repost at once."""
        self.tail = 0
        self.head = 0

    @property
    def count(self) -> int:
        """Rows between tail and head."""
        return (self.head - self.tail) & SEQUENCE_MASK

    @property
    def none(self) -> int:
        """A sequence number that is not alive, and will not be while a row that links to it is."""
        return (self.tail - 1) & SEQUENCE_MASK

    def is_alive(self, sequences: Sequences) -> NDArray[np.bool_]:
        """Whether rows lie between tail and head."""
        return (sequences - np.uint32(self.tail)) < self.count

    def is_alive_one(self, sequence: int) -> bool:
        """The same of one."""
        return (sequence - self.tail) & SEQUENCE_MASK < self.count

    def rows(self, sequences: Sequences) -> Rows:
        """Return the rows of sequence numbers."""
        return sequences.astype(np.int64) & (self.size - 1)

    def row(self, sequence: int) -> int:
        """The same of one."""
        return sequence & (self.size - 1)

    def sequences(self, rows: Rows) -> Sequences:
        """Return the sequence numbers of rows that are alive."""
        return (self.tail + ((rows - self.tail) & (self.size - 1))).astype(np.uint32)

    def front(self, count: int) -> Sequences:
        """Return the first `count` sequence numbers that are alive."""
        return (self.tail + np.arange(min(count, self.count))).astype(np.uint32)

    def created_ms(self, rows: Rows) -> NDArray[np.int64]:
        """Return when the items of rows were created."""
        created: NDArray[np.int64] = self.seconds[rows].astype(np.int64) * 1_000 + self.ms[rows]
        return created

    def find(self, keys: Keys, *, cutoff_ms: int) -> Rows:
        """Return the rows of items that are held, -1 where there is none: deleted or expired ones are not."""
        rows = self.ids.find(keys)
        is_found = rows >= 0
        rows[is_found] = np.where(self.created_ms(rows[is_found]) >= cutoff_ms, rows[is_found], -1)
        return rows

    def append(self, items: EventRows, authors: Rows) -> Sequences:
        """Write new items behind the head, and return their sequence numbers; the caller has made room."""
        sequences = (self.head + np.arange(len(items))).astype(np.uint32)
        rows = self.rows(sequences)
        self.items[rows], self.tags[rows], self.flags[rows] = items["item"], items["tag"], items["flags"]
        self.seconds[rows], self.ms[rows] = items["at_ms"] // 1_000, items["at_ms"] % 1_000
        self.authors[rows], self.labels[rows] = authors, 0
        self.prev[rows] = self.prev_video[rows] = self.none
        is_plain_repost = (items["flags"] & BOTH) == IS_REPOST
        self.related_items[rows] = np.where(is_plain_repost, items["source_item"], items["answered_item"])
        self.related_authors[rows] = np.where(is_plain_repost, items["source_author"], items["answered_author"])
        self.conversations[rows] = items["conversation"]
        for place in np.flatnonzero((items["flags"] & BOTH) == BOTH).tolist():
            self.sources[int(sequences[place])] = (int(items["source_item"][place]), int(items["source_author"][place]))
        self.head = (self.head + len(items)) & SEQUENCE_MASK
        self.ids.add(items["item"].copy(), rows)
        return sequences

    def advance(self, sequences: Sequences) -> None:
        """Let go of the first rows; their items were taken out of the index."""
        if self.sources:
            rows = self.rows(sequences)
            for sequence in sequences[(self.flags[rows] & BOTH) == BOTH].tolist():
                self.sources.pop(sequence, None)
        self.tail = (self.tail + len(sequences)) & SEQUENCE_MASK
