"""Finds the newest items of many authors: all queues at once, one step at a time, until no queue can add to the answer.

A lane is one queue of one author. Each round looks at the current entry of every lane that is still open, takes what
passes, and steps to the next older entry. A lane is closed at its end, at what has expired, at its limits, and as soon
as its entry is older than the last item that the answer has room for: chains are sorted, so all behind it is older too.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from gristmill.recent.core.event import Flag, ItemKind
from gristmill.recent.core.request import ALL_KINDS, Ids, Place, Query
from gristmill.recent.engine.authors import QUEUES, VIDEOS, Authors
from gristmill.recent.engine.chains import Chains
from gristmill.recent.engine.index import Rows
from gristmill.recent.engine.ring import BOTH, IS_DELETED, IS_HIDDEN, ItemRing, Sequences
from gristmill.recent.engine.tombs import Tombstones

__all__ = ["Walk"]

Mask = NDArray[np.bool_]
Times = NDArray[np.int64]


class _Lanes:
    """Lanes that are open: the current entry of each, and the rest of its limits."""

    def __init__(self, authors: Rows, table: Authors, query: Query) -> None:
        queues = [queue for queue in QUEUES if query.per_author[queue] > 0]
        self.at: Sequences = np.concatenate([table.heads[authors, queue] for queue in queues] or [np.zeros(0, "u4")])
        limits = [np.full(len(authors), query.per_author[queue]) for queue in queues]
        self.passes_left: Rows = np.concatenate(limits or [np.zeros(0, np.int64)])
        self.scans_left: Rows = np.full(len(self.at), query.scan)

    def keep(self, chosen: Mask) -> None:
        """Close the lanes that are not chosen."""
        self.at, self.passes_left = self.at[chosen], self.passes_left[chosen]
        self.scans_left = self.scans_left[chosen]


class Walk:
    """One query."""

    def __init__(
        self, ring: ItemRing, chains: Chains, authors: Authors, tombs: Tombstones, query: Query, *, now_ms: int
    ) -> None:
        self._ring = ring
        self._links = chains.links(VIDEOS if query.is_video else QUEUES[0])
        self._authors = authors
        self._tombs = tombs
        self._query = query
        self._now_ms = now_ms
        self._found: list[Sequences] = []
        self._best_ms: Times = np.zeros(0, np.int64)
        self._last_ms = query.cutoff_ms

    def run(self, authors: Rows, is_over: Callable[[], bool]) -> tuple[Sequences, int, bool]:
        """Return what is found, newest first; how many entries were looked at; and whether it was broken off."""
        lanes, visited = _Lanes(authors, self._authors, self._query), 0
        for _ in range(self._query.cap):
            lanes.keep(self._ring.is_alive(lanes.at))
            if not len(lanes.at):
                return self._answer(), visited, False
            if is_over():
                return self._answer(), visited, True
            visited += len(lanes.at)
            self._step(lanes)
        return self._answer(), visited, False

    def _step(self, lanes: _Lanes) -> None:
        rows = self._ring.rows(lanes.at)
        created = self._ring.created_ms(rows)
        is_open = created >= self._last_ms
        if self._query.since is not None:
            is_open &= _is_after(created, self._ring.hot["item"][rows], self._query.since)
        if not is_open.all():
            lanes.keep(is_open)
            rows, created = rows[is_open], created[is_open]
        counts = self._counts(rows, created)
        places = np.flatnonzero(counts)
        chosen = places[self._passes(lanes.at[places], rows[places])]
        self._take(lanes.at[chosen], created[chosen])
        lanes.scans_left -= counts
        lanes.passes_left[chosen] -= 1
        lanes.at = self._links[rows]
        lanes.keep((lanes.passes_left > 0) & (lanes.scans_left > 0))

    def _counts(self, rows: Rows, created: Times) -> Mask:
        """Whether entries count as looked at: what is gone, hidden, excluded or newer than wanted does not."""
        hot, query = self._ring.hot, self._query
        passed_over = IS_DELETED if query.include_hidden else IS_DELETED | IS_HIDDEN
        counts: Mask = (hot["flags"][rows] & passed_over) == 0
        if query.before is not None:
            counts &= _is_before(created, hot["item"][rows], query.before)
        if len(query.exclude):
            counts &= ~_is_among(hot["item"][rows], query.exclude)
        return counts

    def _passes(self, sequences: Sequences, rows: Rows) -> Mask:
        flags, query = self._ring.hot["flags"][rows], self._query
        passes = np.ones(len(rows), np.bool_)
        if query.kinds != ALL_KINDS:
            passes &= _kinds_of(flags) & query.kinds != 0
        if query.tags_any:
            passes &= self._ring.hot["labels"][rows] & query.tags_any != 0
        if query.tags_none:
            passes &= self._ring.hot["labels"][rows] & query.tags_none == 0
        is_repost = (flags & Flag.REPOST) != 0
        if is_repost.any():
            places = np.flatnonzero(is_repost)
            passes[places] &= self._is_repost_wanted(sequences[places], rows[places])
        is_answer = passes & ((flags & Flag.REPLY) != 0)
        if not query.is_video and is_answer.any():
            passes[is_answer] = self._is_answer_wanted(rows[is_answer])
        return passes

    def _is_repost_wanted(self, sequences: Sequences, rows: Rows) -> Mask:
        """Leave out reposts of the requester's own items, and videos that are reposts of what was deleted."""
        items, authors = self._ring.cold["item"][rows], self._ring.cold["author"][rows]
        for place in np.flatnonzero((self._ring.hot["flags"][rows] & BOTH) == BOTH).tolist():
            items[place], authors[place] = self._ring.sources[int(sequences[place])]
        is_wanted: Mask = (authors != self._query.requester) | (self._query.requester == 0)
        if self._query.is_video:
            is_video_itself = (self._ring.hot["flags"][rows] & Flag.VIDEO) != 0
            is_wanted &= is_video_itself | ~self._tombs.has(items, now_ms=self._now_ms)
        return is_wanted

    def _is_answer_wanted(self, rows: Rows) -> Mask:
        """Keep what answers an original, or an answer to the root of the conversation by somebody who is followed."""
        ring, cold = self._ring, self._ring.cold[rows]
        parents = ring.find(cold["item"], cutoff_ms=self._query.cutoff_ms)
        parent_flags = ring.hot["flags"][parents]
        is_original = (parent_flags & BOTH) == 0
        parents_answer = np.where((parent_flags & Flag.REPLY) != 0, ring.cold["item"][parents], 0)
        is_second = (parents_answer == cold["conversation"]) & (cold["conversation"] != 0)
        is_wanted = is_original | (is_second & _is_among(cold["author"], self._query.authors))
        # An answer that names only the author it is for cannot be looked up.
        wanted: Mask = (cold["item"] == 0) | ((parents >= 0) & is_wanted)
        return wanted

    def _take(self, sequences: Sequences, created: Times) -> None:
        if not len(sequences):
            return
        self._found.append(sequences)
        wanted, best = self._query.results, np.concatenate([self._best_ms, created])
        if len(best) >= wanted:
            best = np.partition(best, len(best) - wanted)[len(best) - wanted :]
            self._last_ms = max(self._last_ms, int(best[0]))
        self._best_ms = best

    def _answer(self) -> Sequences:
        found: Sequences = np.concatenate(self._found) if self._found else np.zeros(0, np.uint32)
        rows = self._ring.rows(found)
        order = np.lexsort((self._ring.hot["item"][rows], self._ring.created_ms(rows)))[::-1]
        return found[order[: self._query.results]]


def _kinds_of(flags: NDArray[np.uint16]) -> NDArray[np.uint16]:
    is_reply, is_repost = (flags & Flag.REPLY) != 0, (flags & Flag.REPOST) != 0
    kinds: NDArray[np.uint16] = (
        (~is_reply & ~is_repost) * np.uint16(ItemKind.ORIGINAL)
        + is_reply * np.uint16(ItemKind.REPLY)
        + is_repost * np.uint16(ItemKind.REPOST)
    )
    return kinds


def _is_before(created: Times, items: Ids, place: Place) -> Mask:
    is_before: Mask = (created < place.at_ms) | ((created == place.at_ms) & (items < np.uint64(place.item)))
    return is_before


def _is_after(created: Times, items: Ids, place: Place) -> Mask:
    is_after: Mask = (created > place.at_ms) | ((created == place.at_ms) & (items > np.uint64(place.item)))
    return is_after


def _is_among(values: Ids, among: Ids) -> Mask:
    """Whether values are in a sorted array."""
    if not len(among):
        return np.zeros(len(values), np.bool_)
    places = np.minimum(np.searchsorted(among, values), len(among) - 1)
    is_among: Mask = among[places] == values
    return is_among
