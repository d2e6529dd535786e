"""The engine that is always there: whole batches at a time through numpy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from gristmill.recent.core.answer import ITEM_ROW, ItemRows
from gristmill.recent.core.event import EventRows, select
from gristmill.recent.core.limits import StoreLimits
from gristmill.recent.core.request import Ids, Query
from gristmill.recent.engine.authors import ORIGINALS, QUEUES, SECONDARY, VIDEOS, Authors
from gristmill.recent.engine.chains import Chains
from gristmill.recent.engine.engine import Counts, Found, Held, Removed, Sizes
from gristmill.recent.engine.index import Rows
from gristmill.recent.engine.ring import (
    BOTH,
    IS_DELETED,
    IS_HIDDEN,
    IS_IN_VIDEO,
    IS_REPOST,
    IS_VIDEO,
    ROW_BYTES,
    ItemRing,
    Sequences,
)
from gristmill.recent.engine.tombs import Tombstones
from gristmill.recent.engine.videos import VideoQueue
from gristmill.recent.engine.walk import Walk

__all__ = ["NumpyEngine"]

ROWS_PER_INSERT = 10_000


class NumpyEngine:
    """See `Engine`."""

    name = "numpy"

    def __init__(self, limits: StoreLimits) -> None:
        self._limits = limits
        self._rows_per_insert = min(ROWS_PER_INSERT, limits.items_max)
        self._ring = ItemRing(limits.items_max)
        self._authors = Authors(limits.items_max)
        self._chains = Chains(self._ring, self._authors, cap=limits.cap)
        self._tombs = Tombstones(limits.items_max)
        self._videos = VideoQueue(self._ring, self._chains, waiting_max=limits.waiting_reposts_max)
        self._totals = [0, 0, 0]

    def insert(self, items: EventRows, *, now_ms: int, cutoff_ms: int) -> Counts:
        """Take items in, in the order of the log."""
        counts: Counts = []
        for start in range(0, len(items), self._rows_per_insert):
            some = items[start : start + self._rows_per_insert]
            while len(some):
                # What comes again in the same batch meets the first of its id as stored.
                _, firsts = np.unique(some["item"], return_index=True)
                is_first = np.zeros(len(some), np.bool_)
                is_first[firsts] = True
                counts += self._insert_distinct(select(some, is_first), now_ms=now_ms, cutoff_ms=cutoff_ms)
                some = some[~is_first]
        return counts

    def delete(self, ids: Ids, expires_ms: NDArray[np.int64], *, cutoff_ms: int) -> Removed:
        """Remove items and remember that they were deleted."""
        rows = self._ring.ids.find(ids)
        rows = rows[rows >= 0]
        hidden = self._ring.items[rows[(self._ring.flags[rows] & IS_HIDDEN) != 0]]
        self._remove(rows)
        return Removed(hidden, [("tombstones_evicted", self._tombs.add(ids, expires_ms))])

    def forget_tombstones(self, ids: Ids) -> None:
        """Let deleted ids come again."""
        self._tombs.forget(ids)

    def decide(self, item: int, *, hide: bool | None, set: int, clear: int, cutoff_ms: int) -> bool:
        """Hide or show an item and change its label bits."""
        [row] = self._ring.find(np.array([item], np.uint64), cutoff_ms=cutoff_ms)
        if row < 0:
            return False
        ring = self._ring
        if hide is not None:
            ring.flags[row] = (int(ring.flags[row]) & ~IS_HIDDEN) | (IS_HIDDEN if hide else 0)
        ring.labels[row] = (int(ring.labels[row]) | set) & ~clear
        return True

    def latest(self, query: Query, *, now_ms: int, is_over: Callable[[], bool]) -> Found:
        """Return the newest items of authors."""
        authors = self._authors.find(query.authors)
        walk = Walk(self._ring, self._chains, self._authors, self._tombs, query, now_ms=now_ms)
        sequences, visited, partial = walk.run(authors[authors >= 0], is_over)
        return Found(self._describe(sequences), visited, partial)

    def get(self, ids: Ids, *, cutoff_ms: int) -> ItemRows:
        """Return those items that are held, in the order asked for."""
        rows = self._ring.find(ids, cutoff_ms=cutoff_ms)
        return self._describe(self._ring.sequences(rows[rows >= 0]))

    def newest(self, authors: Ids, *, cutoff_ms: int) -> NDArray[np.int64]:
        """Return when each author's newest item was created."""
        rows = self._authors.find(authors)
        newest = np.zeros(len(authors), np.int64)
        known = rows >= 0
        for queue in (ORIGINALS, SECONDARY):
            heads = self._authors.heads[rows[known], queue]
            created = np.where(self._ring.is_alive(heads), self._ring.created_ms(self._ring.rows(heads)), 0)
            newest[known] = np.maximum(newest[known], created)
        newest[newest < cutoff_ms] = 0
        return newest

    def held(self, authors: Ids) -> Held:
        """Return how many items authors hold."""
        rows = self._authors.find(authors)
        counts = np.where((rows >= 0)[:, None], self._authors.counts[rows], 0).astype(np.uint32)
        return Held(counts[:, ORIGINALS], counts[:, SECONDARY], counts[:, VIDEOS])

    def expire(self, *, now_ms: int, cutoff_ms: int, rows_max: int) -> int:
        """Let go of items and tombstones whose time is over."""
        front = self._ring.front(rows_max)
        rows = self._ring.rows(front)
        stays = np.flatnonzero(self._ring.created_ms(rows) >= cutoff_ms)
        gone = front[: stays[0]] if len(stays) else front
        self._let_go(gone)
        self._ring.ids.shrink()
        return len(gone) + self._tombs.expire(now_ms=now_ms, rows_max=rows_max)

    def sweep(self, part: int, parts: int) -> Counts:
        """Trim queues that are over the cap, and forget authors without items."""
        authors, trimmed = self._authors.slice_of(part, parts), 0
        counts = self._authors.counts[authors]
        for queue in QUEUES:
            for author in authors[counts[:, queue] > self._limits.cap].tolist():
                trimmed += self._trim(author, queue)
        self._authors.drop(authors[self._authors.counts[authors].sum(axis=1) == 0])
        self._authors.index.shrink()
        return [("trimmed", trimmed)]

    def sweep_deleted(self, *, now_ms: int) -> int:
        """Remove items that are held though they were deleted."""
        ids = self._tombs.ids()
        rows = self._ring.ids.find(ids[self._tombs.has(ids, now_ms=now_ms)])
        self._remove(rows[rows >= 0])
        return int((rows >= 0).sum())

    def sizes(self) -> Sizes:
        """Return what is held."""
        ring, authors, tombs = self._ring, self._authors, self._tombs
        bytes_ = ring.count * ROW_BYTES + ring.ids.nbytes + authors.count * 32 + authors.index.nbytes + tombs.count * 16
        originals, secondary, videos = self._totals
        return Sizes(ring.ids.live, ring.count, authors.count, tombs.count, originals, secondary, videos, bytes_)

    def _insert_distinct(self, items: EventRows, *, now_ms: int, cutoff_ms: int) -> Counts:
        is_dead = self._tombs.has(items["item"], now_ms=now_ms)
        items = select(items, ~is_dead)
        rows = self._ring.ids.find(items["item"])
        updated, spliced = self._update(rows[rows >= 0], items[rows >= 0])
        new = select(items, rows < 0)
        evicted = self._make_room(len(new))
        inserted, late, refused = self._insert_new(new, cutoff_ms=cutoff_ms)
        return [
            ("tombstone_rejected", int(is_dead.sum())),
            ("updated", updated),
            ("duplicate", int((rows >= 0).sum()) - updated),
            ("inserted", inserted),
            ("over_cap", refused),
            ("late_spliced", late + spliced),
            ("ring_evicted", evicted),
            ("reposts_forgotten", self._videos.take_forgotten()),
        ]

    def _insert_new(self, items: EventRows, *, cutoff_ms: int) -> tuple[int, int, int]:
        items = items[np.lexsort((items["item"], items["at_ms"]))]
        authors = self._authors.find_or_add(items["author"], none=self._ring.none)
        sequences = self._ring.append(items, authors)
        is_secondary = (items["flags"] & BOTH) != 0
        late, refused = 0, []
        for queue, chosen in ((ORIGINALS, ~is_secondary), (SECONDARY, is_secondary)):
            spliced, over = self._chains.link(sequences[chosen], authors[chosen], queue)
            self._totals[queue] += int(chosen.sum()) - len(over)
            refused.append(over)
            late += spliced
        over_cap = np.concatenate(refused)
        self._forget(over_cap)
        linked, spliced = self._videos.on_new(sequences[~np.isin(sequences, over_cap)], cutoff_ms=cutoff_ms)
        self._totals[VIDEOS] += linked
        return len(items) - len(over_cap), late + spliced, len(over_cap)

    def _update(self, rows: Rows, items: EventRows) -> tuple[int, int]:
        """Change flags and tags of items that are known; return how many differed and how many became videos late."""
        ring = self._ring
        is_plain_repost = (items["flags"] & BOTH) == IS_REPOST
        related = np.where(is_plain_repost, items["source_item"], items["answered_item"])
        video = np.uint16(IS_VIDEO)
        differs = (
            (ring.tags[rows] != items["tag"])
            | ((ring.flags[rows] & (BOTH | video)) != (items["flags"] & (BOTH | video)))
            | (ring.related_items[rows] != related)
            | (ring.conversations[rows] != items["conversation"])
        )
        rows, items = rows[differs], items[differs]
        ring.tags[rows] = items["tag"]
        turned = rows[(ring.flags[rows] & video) != (items["flags"] & video)]
        ring.flags[turned] ^= video
        spliced, change = self._videos.on_turned(self._ring.sequences(turned))
        self._totals[VIDEOS] += change
        return len(rows), spliced

    def _make_room(self, count: int) -> int:
        """Let the first rows go where the ring is full; return how many live items there were in them."""
        missing = self._ring.count + count - self._limits.items_max
        before = self._ring.ids.live
        if missing > 0:
            self._let_go(self._ring.front(missing))
        if self._authors.room < count:
            everyone = self._authors.slice_of(0, 1)
            self._authors.drop(everyone[self._authors.counts[everyone].sum(axis=1) == 0])
        return before - self._ring.ids.live

    def _let_go(self, sequences: Sequences) -> None:
        rows = self._ring.rows(sequences)
        flags = self._ring.flags[rows]
        self._remove(rows[(flags & IS_DELETED) == 0])
        self._ring.advance(sequences)
        for queue in QUEUES:
            # Older items that came later are still held: they must stay within reach.
            is_needed = self._ring.is_alive(self._chains.links(queue)[rows])
            is_in = (flags & IS_IN_VIDEO) != 0 if queue == VIDEOS else ((flags & BOTH) != 0) == (queue == SECONDARY)
            for place in np.flatnonzero(is_needed & is_in).tolist():
                self._chains.unlink(int(sequences[place]), int(self._ring.authors[rows[place]]), queue)

    def _remove(self, rows: Rows) -> None:
        """Take items out of the index and out of the counts; their links stay until they leave the ring."""
        flags = self._ring.flags[rows]
        authors = self._ring.authors[rows].astype(np.int64)
        is_secondary = (flags & BOTH) != 0
        for queue, chosen in ((ORIGINALS, ~is_secondary), (SECONDARY, is_secondary), (VIDEOS, flags & IS_IN_VIDEO > 0)):
            self._authors.add_counts(authors[chosen], queue, -1)
            self._totals[queue] -= int(chosen.sum())
        self._mark_deleted(rows)

    def _forget(self, sequences: Sequences) -> None:
        """Take items out that are in no queue."""
        self._mark_deleted(self._ring.rows(sequences))

    def _mark_deleted(self, rows: Rows) -> None:
        self._ring.ids.remove(self._ring.items[rows], rows)
        self._ring.flags[rows] |= np.uint16(IS_DELETED)

    def _trim(self, author: int, queue: int) -> int:
        """Remove what lies deeper in a queue than the cap; from the queue of videos it is only taken out."""
        number = QUEUES[queue]
        entries = np.array(self._chains.entries(author, number), np.uint32)
        rows = self._ring.rows(entries)
        rows = rows[(self._ring.flags[rows] & IS_DELETED) == 0][self._limits.cap :]
        if number != VIDEOS:
            self._remove(rows)
            return len(rows)
        self._videos.take_out(self._ring.sequences(rows))
        self._totals[VIDEOS] -= len(rows)
        return 0

    def _describe(self, sequences: Sequences) -> ItemRows:
        ring = self._ring
        rows = ring.rows(sequences)
        found, flags = np.zeros(len(rows), ITEM_ROW), ring.flags[rows]
        found["item"], found["at_ms"], found["author"] = ring.items[rows], ring.created_ms(rows), self._authors_of(rows)
        found["labels"], found["tag"], found["conversation"] = (
            ring.labels[rows],
            ring.tags[rows],
            ring.conversations[rows],
        )
        found["flags"] = flags & (BOTH | IS_VIDEO | IS_HIDDEN)
        items, authors = ring.related_items[rows], ring.related_authors[rows]
        is_source = (flags & BOTH) == IS_REPOST
        found["source_item"], found["source_author"] = np.where(is_source, items, 0), np.where(is_source, authors, 0)
        found["answered_item"], found["answered_author"] = (
            np.where(is_source, 0, items),
            np.where(is_source, 0, authors),
        )
        for place in np.flatnonzero((flags & BOTH) == BOTH).tolist():
            found["source_item"][place], found["source_author"][place] = ring.sources[int(sequences[place])]
        return found

    def _authors_of(self, rows: Rows) -> Ids:
        ids: Ids = self._authors.ids[self._ring.authors[rows]]
        return ids
