"""Identifiers and the arithmetic of dated item ids.

An `ItemId` is `yyyymmdd * 10**11 + n`: the first eight of at most nineteen digits are the day, so a
person can tell when content arrived, ids sort by day, and they fit a signed 64-bit integer up to the
year 9222. At every edge it is written as a decimal string, since JavaScript loses digits above 2**53.

Ids are handed out from segments. The day belongs to the segment, not to the clock at issue, so a clock
that is set back can never lower the day of later ids. Gaps are fine, reuse is not.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import NewType, cast

import msgspec

from gristmill.domain.errors import InvariantBroken, UsageError

__all__ = [
    "IDS_PER_DAY",
    "ItemId",
    "RunId",
    "Segment",
    "SegmentBuffer",
    "compute_run_id",
    "day_of",
    "decide_segment",
]

ItemId = NewType("ItemId", int)
RunId = NewType("RunId", str)

IDS_PER_DAY = 10**11
"""Ids that one day can hold; above it intake refuses and raises an alarm."""


class Segment(msgspec.Struct, frozen=True):
    """A half-open range `start <= n < stop` of running numbers of one day (`yyyymmdd`)."""

    day: int
    start: int
    stop: int


def decide_segment(row: tuple[int, int] | None, *, day: int, step: int) -> Segment:
    """Return the next segment after the stored `(day, next)` row, or the first one where there is no row.

    A later day starts again at 0; an earlier day (a clock set back) keeps the row's day.

    Raises:
        InvariantBroken: the day is full.
        UsageError: `step` is below 1.
    """
    kept_day, start = row if row is not None else (day, 0)
    if day > kept_day:
        kept_day, start = day, 0
    if step < 1:
        raise UsageError("step of an id segment", value=step, advice="take at least one id")
    if start + step > IDS_PER_DAY:
        raise InvariantBroken("item ids of a day are used up", value=kept_day, advice="wait for the next day")
    return Segment(day=kept_day, start=start, stop=start + step)


class SegmentBuffer:
    """Issues ids from one segment at a time; the owner fetches the next one when it runs low. No IO."""

    def __init__(self) -> None:
        self._day = 0
        self._next = 0
        self._stop = 0

    @property
    def left(self) -> int:
        """Ids that can still be issued without a new segment."""
        return self._stop - self._next

    @property
    def day(self) -> int:
        """Day of the current segment (`yyyymmdd`), 0 before the first."""
        return self._day

    def fill(self, segment: Segment) -> None:
        """Go over to a new segment; what is left of the old one becomes a gap."""
        if (segment.day, segment.start) < (self._day, self._stop):
            raise InvariantBroken("segment goes backwards", value=(segment.day, segment.start))
        self._day, self._next, self._stop = segment.day, segment.start, segment.stop

    def empty(self) -> None:
        """Give up what is left; it becomes a gap. The next segment must still be a later one."""
        self._next = self._stop

    def take(self, count: int) -> list[ItemId]:
        """Return the next `count` ids, or as many as the segment still has."""
        start = self._day * IDS_PER_DAY + self._next
        issued = range(start, start + min(count, self.left))
        self._next += len(issued)
        return cast("list[ItemId]", list(issued))


def day_of(item_id: ItemId) -> int:
    """Return the day (`yyyymmdd`) that an id carries."""
    return item_id // IDS_PER_DAY


def compute_run_id(*, generator: str, topic: str, offset: int, plan: str) -> RunId:
    """Derive the id of the Run of one plan on one record; equal on redelivery and recovery.

    32 hexadecimal digits. Equal inputs give equal ids in every process, so effects keyed by it are applied once.
    """
    name = "\x00".join((generator, topic, str(offset), plan))
    return RunId(blake2b(name.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest())
