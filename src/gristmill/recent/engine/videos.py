"""The queue of videos: videos that answer nobody, and reposts of them that answer nobody either.

A repost whose source has not arrived waits for it, so that the order of arrival does not matter.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gristmill.recent.engine.authors import VIDEOS
from gristmill.recent.engine.chains import Chains
from gristmill.recent.engine.index import Rows
from gristmill.recent.engine.ring import (
    BOTH,
    IS_DELETED,
    IS_IN_VIDEO,
    IS_REPLY,
    IS_REPOST,
    IS_VIDEO,
    ItemRing,
    Sequences,
)

__all__ = ["VideoQueue"]


class VideoQueue:
    """Puts items into the queue of videos.

    Args:
        waiting_max: reposts that wait; beyond it the first to come are forgotten.
    """

    def __init__(self, ring: ItemRing, chains: Chains, *, waiting_max: int) -> None:
        self._ring = ring
        self._chains = chains
        self._waiting_max = waiting_max
        self._waiting: dict[int, list[int]] = {}
        self._count = self._forgotten = 0

    def on_new(self, sequences: Sequences, *, cutoff_ms: int) -> tuple[int, int]:
        """Look at new items, sorted by time and id; return how many became videos, and how many of them late."""
        ring = self._ring
        rows = ring.rows(sequences)
        flags = ring.flags[rows]
        is_video = (flags & (IS_VIDEO | IS_REPLY)) == IS_VIDEO
        is_video |= self._has_video_source(sequences, rows, (flags & BOTH) == IS_REPOST, cutoff_ms=cutoff_ms)
        linked, spliced = self._link(sequences[is_video])
        if self._waiting:
            late = self._take_waiting(ring.items[rows[(flags & (IS_VIDEO | IS_REPLY)) == IS_VIDEO]].tolist())
            more, _ = self._link(late)
            return linked + more, spliced + more
        return linked, spliced

    def on_turned(self, sequences: Sequences) -> tuple[int, int]:
        """Look at items that have become a video or are none any more; returns how many were put in, and the change."""
        flags = self._ring.flags[self._ring.rows(sequences)]
        is_plain, is_in = (flags & IS_REPLY) == 0, (flags & IS_IN_VIDEO) != 0
        is_video = (flags & IS_VIDEO) != 0
        linked, _ = self._link(self._in_order(sequences[is_plain & is_video & ~is_in]))
        leaving = sequences[is_in & ~is_video]
        self.take_out(leaving)
        return linked, linked - len(leaving)

    def take_out(self, sequences: Sequences) -> None:
        """Take items out of the queue; they are held all the same."""
        for sequence in sequences.tolist():
            row = self._ring.row(sequence)
            author = int(self._ring.authors[row])
            self._chains.unlink(sequence, author, VIDEOS)
            self._chains.count_out(author, VIDEOS)
            self._ring.flags[row] &= ~np.uint16(IS_IN_VIDEO)

    def take_forgotten(self) -> int:
        """Return how many reposts stopped waiting since it was asked last."""
        forgotten, self._forgotten = self._forgotten, 0
        return forgotten

    def _has_video_source(
        self, sequences: Sequences, rows: Rows, is_repost: NDArray[np.bool_], *, cutoff_ms: int
    ) -> NDArray[np.bool_]:
        has_source = np.zeros(len(rows), np.bool_)
        places = np.flatnonzero(is_repost)
        wanted = self._ring.related_items[rows[places]]
        sources = self._ring.find(wanted, cutoff_ms=cutoff_ms)
        known = sources >= 0
        source_flags = self._ring.flags[sources[known]]
        has_source[places[known]] = (source_flags & (IS_VIDEO | IS_REPLY)) == IS_VIDEO
        for source, sequence in zip(wanted[~known].tolist(), sequences[places[~known]].tolist(), strict=True):
            self._waiting.setdefault(source, []).append(sequence)
            self._count += 1
        while self._count > self._waiting_max:
            dropped = len(self._waiting.pop(next(iter(self._waiting))))
            self._count -= dropped
            self._forgotten += dropped
        return has_source

    def _take_waiting(self, sources: list[int]) -> Sequences:
        found: list[int] = []
        for source in sources:
            waiting = self._waiting.pop(source, ())
            self._count -= len(waiting)
            found += [one for one in waiting if self._ring.is_alive_one(one)]
        sequences = np.array(found, np.uint32)
        flags = self._ring.flags[self._ring.rows(sequences)]
        return self._in_order(sequences[(flags & (IS_DELETED | IS_IN_VIDEO)) == 0])

    def _link(self, sequences: Sequences) -> tuple[int, int]:
        rows = self._ring.rows(sequences)
        spliced, refused = self._chains.link(sequences, self._ring.authors[rows].astype(np.int64), VIDEOS)
        self._ring.flags[rows[~np.isin(sequences, refused)]] |= np.uint16(IS_IN_VIDEO)
        return len(sequences) - len(refused), spliced

    def _in_order(self, sequences: Sequences) -> Sequences:
        rows = self._ring.rows(sequences)
        order: Rows = np.lexsort((self._ring.items[rows], self._ring.created_ms(rows)))
        return sequences[order]
