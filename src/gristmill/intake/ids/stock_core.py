"""Decides from which of two segments ids are issued, when the next is wanted, and how large it should be. Pure.

One segment is in use, the other one is spare. When a fifth of the first is used the spare is wanted; when it is used up
the spare takes its place. So a store that stands still for as long as four fifths of a segment last is not noticed.
"""

from __future__ import annotations

from datetime import datetime, tzinfo

import msgspec

from gristmill.domain.ids import ItemId, Segment, SegmentBuffer

__all__ = ["IdStock", "Moment", "compute_step", "read_moment"]

STEP_MIN = 1_000
STEP_MAX = 1_000_000

USE_MS_MIN = 300_000
USE_MS_MAX = 1_200_000
"""A segment should last about ten minutes: seldom enough for the store, short enough that a restart wastes little."""

USED_SHARE = 0.2
"""Share of a segment that is used when the next one is fetched."""

STALE_AFTER_MS = 900_000
"""Fifteen minutes after midnight yesterday's segments are given up: a quiet node would date its ids wrongly all day."""


class Moment(msgspec.Struct, frozen=True):
    """A time as ids see it: UTC epoch, the day (`yyyymmdd`) in the zone of ids, and how far that day has gone."""

    at_ms: int
    day: int
    since_midnight_ms: int


def read_moment(at_ms: int, zone: tzinfo) -> Moment:
    """Return the moment of a time in a zone."""
    local = datetime.fromtimestamp(at_ms / 1_000, zone)
    since_s = local.hour * 3_600 + local.minute * 60 + local.second
    return Moment(at_ms, local.year * 10_000 + local.month * 100 + local.day, since_s * 1_000)


def compute_step(size: int, *, lasted_ms: int) -> int:
    """Return the size of the next segment after one of `size` ids that lasted so long."""
    if lasted_ms < USE_MS_MIN:
        return min(STEP_MAX, size * 2)
    if lasted_ms > USE_MS_MAX:
        return max(STEP_MIN, size // 2)
    return size


class IdStock:
    """Two segments of ids."""

    def __init__(self) -> None:
        self.step = STEP_MIN
        """Size of the next segment to fetch."""
        self._buffer = SegmentBuffer()
        self._size = 0
        self._began_at_ms = 0
        self._spare: Segment | None = None

    def draw(self, count: int, *, now: Moment) -> list[ItemId]:
        """Return up to `count` ids, rising; fewer when both segments are used up."""
        self._drop_stale(now)
        issued = self._buffer.take(count)
        while len(issued) < count and self._spare is not None:
            self._switch(self._spare, now)
            issued += self._buffer.take(count - len(issued))
        return issued

    def wants_segment(self, *, now: Moment) -> bool:
        """Whether to fetch another segment: there is no spare and it is time, or all there is is of yesterday."""
        if self._spare is not None:
            return self._spare.day < now.day
        return self._buffer.left <= self._size * (1 - USED_SHARE) or self._buffer.day < now.day

    def on_fetched(self, segment: Segment) -> None:
        """Take in the next segment; a spare of yesterday becomes a gap."""
        self._spare = segment

    def _switch(self, segment: Segment, now: Moment) -> None:
        if self._size:
            # By its own size: the spare was fetched before this was known, and would grow the step a second time.
            self.step = compute_step(self._size, lasted_ms=now.at_ms - self._began_at_ms)
        self._buffer.fill(segment)
        self._size = segment.stop - segment.start
        self._began_at_ms = now.at_ms
        self._spare = None

    def _drop_stale(self, now: Moment) -> None:
        if now.since_midnight_ms < STALE_AFTER_MS:
            return
        if self._buffer.day < now.day:
            self._buffer.empty()
        if self._spare is not None and self._spare.day < now.day:
            self._spare = None
