"""The queues of an author as chains through the ring: each item links to the next older one of its queue.

A chain is sorted by time and then by id, newest first, whatever order its items came in. Items that were deleted stay
in it until they leave the ring, and are passed over.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gristmill.recent.engine.authors import VIDEOS, Authors, QueueNumber
from gristmill.recent.engine.index import Rows
from gristmill.recent.engine.ring import IS_DELETED, ItemRing, Sequences

__all__ = ["Chains"]

Key = tuple[int, int]


class Chains:
    """Links items into the queues of their authors.

    Args:
        cap: a queue holds so many items, and is never walked deeper.
    """

    def __init__(self, ring: ItemRing, authors: Authors, *, cap: int) -> None:
        self._ring = ring
        self._authors = authors
        self._cap = cap

    def links(self, queue: QueueNumber) -> Sequences:
        """Return the column that holds the links of a queue."""
        return self._ring.prev_video if queue == VIDEOS else self._ring.prev

    def link(self, sequences: Sequences, authors: Rows, queue: QueueNumber) -> tuple[int, Sequences]:
        """Put items into a queue; they are sorted by time and id, oldest first.

        Returns:
            How many came late and were spliced in, and those that were too late: the cap lies above them.
        """
        if not len(sequences):
            return 0, sequences
        order = np.argsort(authors, kind="stable")
        sequences, authors = sequences[order], authors[order]
        is_late = self._is_late(sequences, self._authors.heads[authors, queue])
        self._link_newest(sequences[~is_late], authors[~is_late], queue)
        late = [
            (sequence, self.splice(sequence, author, queue))
            for sequence, author in zip(sequences[is_late].tolist(), authors[is_late].tolist(), strict=True)
        ]
        refused = [sequence for sequence, is_in in late if not is_in]
        return len(late) - len(refused), np.array(refused, np.uint32)

    def splice(self, sequence: int, author: int, queue: QueueNumber) -> bool:
        """Put one item into its place; False where as many newer ones as the cap allows are in front of it."""
        links, ring, key = self.links(queue), self._ring, self._key(sequence)
        newer, at, held = -1, int(self._authors.heads[author, queue]), 0
        while ring.is_alive_one(at) and self._key(at) > key:
            held += not int(ring.flags[ring.row(at)]) & IS_DELETED
            if held >= self._cap:
                return False
            newer, at = at, int(links[ring.row(at)])
        links[ring.row(sequence)] = at if ring.is_alive_one(at) else ring.none
        self._point(author, queue, newer, sequence)
        self._authors.counts[author, queue] += 1
        return True

    def unlink(self, sequence: int, author: int, queue: QueueNumber) -> None:
        """Take one item out of the links of a queue, if it is there; what lies behind it stays reachable."""
        links, ring = self.links(queue), self._ring
        newer, at = -1, int(self._authors.heads[author, queue])
        while at != sequence:
            if not ring.is_alive_one(at):
                return
            newer, at = at, int(links[ring.row(at)])
        self._point(author, queue, newer, int(links[ring.row(sequence)]))

    def count_out(self, author: int, queue: QueueNumber) -> None:
        """Count an item of a queue no more."""
        self._authors.counts[author, queue] -= 1

    def entries(self, author: int, queue: QueueNumber) -> list[int]:
        """Return the sequence numbers of a queue that are alive, newest first, deleted ones included."""
        links, ring, found = self.links(queue), self._ring, []
        at = int(self._authors.heads[author, queue])
        while ring.is_alive_one(at):
            found.append(at)
            at = int(links[ring.row(at)])
        return found

    def _is_late(self, sequences: Sequences, heads: Sequences) -> NDArray[np.bool_]:
        ring = self._ring
        rows, head_rows = ring.rows(sequences), ring.rows(heads)
        created, head_created = ring.created_ms(rows), ring.created_ms(head_rows)
        is_older = ring.items[rows] < ring.items[head_rows]
        is_late: NDArray[np.bool_] = ring.is_alive(heads) & (
            (created < head_created) | ((created == head_created) & is_older)
        )
        return is_late

    def _link_newest(self, sequences: Sequences, authors: Rows, queue: QueueNumber) -> None:
        """Put items in front; they are grouped by author, oldest first within each."""
        if not len(sequences):
            return
        is_first = np.append(True, authors[1:] != authors[:-1])
        is_last = np.append(is_first[1:], True)
        older = np.append(sequences[:1], sequences[:-1])
        older[is_first] = self._authors.heads[authors[is_first], queue]
        self.links(queue)[self._ring.rows(sequences)] = older
        self._authors.heads[authors[is_last], queue] = sequences[is_last]
        self._authors.add_counts(authors, queue, 1)

    def _point(self, author: int, queue: QueueNumber, newer: int, at: int) -> None:
        if newer < 0:
            self._authors.heads[author, queue] = at
        else:
            self.links(queue)[self._ring.row(newer)] = at

    def _key(self, sequence: int) -> Key:
        ring, row = self._ring, self._ring.row(sequence)
        return int(ring.seconds[row]) * 1_000 + int(ring.ms[row]), int(ring.items[row])
