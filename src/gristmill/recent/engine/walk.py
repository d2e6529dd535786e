"""Finds the newest items of many authors: all queues at once, one step at a time, until no queue can add to the answer.

A lane is one queue of one author. Each round looks at the current entries of the newest lanes, as many as the answer
has items, takes what passes, and goes on to the next older entries. A lane is closed at its end, at what has expired,
at its limits, and as soon as its entry is older than the last item that the answer has room for: chains are sorted, so
all behind it is older too.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from gristmill.recent.core.event import ItemKind
from gristmill.recent.core.request import ALL_KINDS, Ids, Place, Query
from gristmill.recent.engine.authors import QUEUES, VIDEOS, Authors
from gristmill.recent.engine.chains import Chains
from gristmill.recent.engine.index import Rows
from gristmill.recent.engine.ring import BOTH, IS_DELETED, IS_HIDDEN, IS_REPLY, IS_REPOST, IS_VIDEO, ItemRing, Sequences
from gristmill.recent.engine.tombs import Tombstones

__all__ = ["Walk"]

CLOSED_MS = -(2**62)
"""Time of what is behind the end of a lane: before all time."""

Mask = NDArray[np.bool_]
Times = NDArray[np.int64]


class _Lanes:
    """Lanes that are open, as columns.

    Attributes:
        at: sequence number of the current entry.
        created: its time.
        passes, scans, steps: what is left of the limits.
    """

    def __init__(self, authors: Rows, table: Authors, query: Query) -> None:
        queues = [queue for queue in QUEUES if query.per_author[queue] > 0]
        heads = [table.heads[authors, queue] for queue in queues]
        self.at: Sequences = np.concatenate([*heads, np.zeros(0, np.uint32)])
        limits = [np.full(len(authors), query.per_author[queue]) for queue in queues]
        self.passes: Rows = np.concatenate([*limits, np.zeros(0, np.int64)])
        self.scans: Rows = np.full(len(self.at), query.scan)
        self.steps: Rows = np.full(len(self.at), query.cap)
        self.created: Times = np.zeros(len(self.at), np.int64)

    def keep(self, chosen: Mask) -> None:
        """Close the lanes that are not chosen."""
        if not chosen.all():
            self.at, self.created, self.steps = self.at[chosen], self.created[chosen], self.steps[chosen]
            self.passes, self.scans = self.passes[chosen], self.scans[chosen]

    def newest(self, count: int) -> Rows:
        """Return the places of the lanes whose current entries are the newest, `count` of them and ties."""
        excess = len(self.created) - count
        if excess <= 0:
            return np.arange(len(self.created))
        return np.flatnonzero(self.created >= np.partition(self.created, excess)[excess])


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
        self._last_ms = query.cutoff_ms if query.since is None else max(query.cutoff_ms, query.since.at_ms)

    def run(self, authors: Rows, is_over: Callable[[], bool]) -> tuple[Sequences, int, bool]:
        """Return what is found, newest first; how many entries were looked at; and whether it was broken off."""
        lanes, visited = _Lanes(authors, self._authors, self._query), 0
        lanes.created = self._times_of(lanes.at)
        lanes.keep(lanes.created >= self._last_ms)
        while len(lanes.at):
            if is_over():
                return self._answer(), visited, True
            places = lanes.newest(self._query.results)
            visited += len(places)
            self._step(lanes, places)
        return self._answer(), visited, False

    def _step(self, lanes: _Lanes, places: Rows) -> None:
        """Look at the current entries of some lanes, and go on to the next ones."""
        entries, created = lanes.at[places], lanes.created[places]
        rows = self._ring.rows(entries)
        counts = self._counts(rows, created)
        counted = np.flatnonzero(counts)
        chosen = counted[self._passes(entries[counted], rows[counted])]
        self._take(entries[chosen], created[chosen])
        lanes.scans[places] -= counts
        lanes.passes[places[chosen]] -= 1
        lanes.steps[places] -= 1
        lanes.at[places] = following = self._links[rows]
        lanes.created[places] = self._times_of(following)
        within = (lanes.passes[places] > 0) & (lanes.scans[places] > 0) & (lanes.steps[places] > 0)
        lanes.created[places[~within]] = CLOSED_MS
        lanes.keep(lanes.created >= self._last_ms)

    def _times_of(self, sequences: Sequences) -> Times:
        """Return when items were created, before all time for those that are gone."""
        times: Times = np.where(
            self._ring.is_alive(sequences), self._ring.created_ms(self._ring.rows(sequences)), CLOSED_MS
        )
        return times

    def _counts(self, rows: Rows, created: Times) -> Mask:
        """Whether entries count as looked at: what is gone, hidden, excluded or newer than wanted does not."""
        ring, query = self._ring, self._query
        passed_over = IS_DELETED if query.include_hidden else IS_DELETED | IS_HIDDEN
        counts: Mask = (ring.flags[rows] & passed_over) == 0
        if query.since is not None:
            counts &= _is_after(created, ring.items[rows], query.since)
        if query.before is not None:
            counts &= _is_before(created, ring.items[rows], query.before)
        if len(query.exclude):
            counts &= ~_is_among(ring.items[rows], query.exclude)
        return counts

    def _passes(self, sequences: Sequences, rows: Rows) -> Mask:
        flags, query = self._ring.flags[rows], self._query
        passes = np.ones(len(rows), np.bool_)
        if query.kinds != ALL_KINDS:
            passes &= _kinds_of(flags) & query.kinds != 0
        if query.tags_any:
            passes &= self._ring.labels[rows] & query.tags_any != 0
        if query.tags_none:
            passes &= self._ring.labels[rows] & query.tags_none == 0
        is_repost = (flags & IS_REPOST) != 0
        if is_repost.any():
            places = np.flatnonzero(is_repost)
            passes[places] &= self._is_repost_wanted(sequences[places], rows[places])
        is_answer = passes & ((flags & IS_REPLY) != 0)
        if not query.is_video and is_answer.any():
            passes[is_answer] = self._is_answer_wanted(rows[is_answer])
        return passes

    def _is_repost_wanted(self, sequences: Sequences, rows: Rows) -> Mask:
        """Leave out reposts of the requester's own items, and videos that are reposts of what was deleted."""
        items, authors = self._ring.related_items[rows], self._ring.related_authors[rows]
        for place in np.flatnonzero((self._ring.flags[rows] & BOTH) == BOTH).tolist():
            items[place], authors[place] = self._ring.sources[int(sequences[place])]
        is_wanted: Mask = (authors != self._query.requester) | (self._query.requester == 0)
        if self._query.is_video:
            is_video_itself = (self._ring.flags[rows] & IS_VIDEO) != 0
            is_wanted &= is_video_itself | ~self._tombs.has(items, now_ms=self._now_ms)
        return is_wanted

    def _is_answer_wanted(self, rows: Rows) -> Mask:
        """Keep what answers an original, or an answer to the root of the conversation by somebody who is followed."""
        ring = self._ring
        answered, conversations = ring.related_items[rows], ring.conversations[rows]
        parents = ring.find(answered, cutoff_ms=self._query.cutoff_ms)
        parent_flags = ring.flags[parents]
        is_original = (parent_flags & BOTH) == 0
        parents_answer = np.where((parent_flags & IS_REPLY) != 0, ring.related_items[parents], 0)
        is_second = (parents_answer == conversations) & (conversations != 0)
        is_wanted = is_original | (is_second & _is_among(ring.related_authors[rows], self._query.authors))
        # An answer that names only the author it is for cannot be looked up.
        wanted: Mask = (answered == 0) | ((parents >= 0) & is_wanted)
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
        order = np.lexsort((self._ring.items[rows], self._ring.created_ms(rows)))[::-1]
        return found[order[: self._query.results]]


def _kinds_of(flags: NDArray[np.uint16]) -> NDArray[np.uint16]:
    is_reply, is_repost = (flags & IS_REPLY) != 0, (flags & IS_REPOST) != 0
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
