"""What a store that was restored from a backup must leave out, so that nothing lost since then is issued again.

Whatever was handed out after the backup was taken may live on outside: in output lines, in sinks, in somebody's
notes. Nobody knows how far the lost store had come, but no counter grows faster than a known rate. So a restored
counter is set to where the clock says that it can never have been, by a rule that holds for any number of restores of
one backup: what a restored store issues stays below the clock too, hence below what the next restore begins with.
"""

from __future__ import annotations

import msgspec

from gristmill.domain.ids import IDS_PER_DAY

__all__ = ["Loss", "skip_ids", "skip_numbers", "skip_positions"]

PER_MS_MAX = 1_150
"""Item ids or log positions of a millisecond: fifty times what two processors reach; a day of it fits a day's ids."""

MARGIN = 500_000_000
"""Segments that were fetched ahead, and clocks of two hosts that differ by minutes."""

NUMBERS_PER_MS_MAX = 10
"""Dead letters, quarantined records and the like: each is written by itself. People type these, so they stay short."""

NUMBERS_MARGIN = 1_000


class Loss(msgspec.Struct, frozen=True, kw_only=True):
    """Between a backup and its restore.

    Attributes:
        elapsed_ms: from the backup to the restore, 0 or more.
        day: of the restore, in the zone of ids (`yyyymmdd`).
        since_midnight_ms: how far that day has gone.
        namespaces: those of item ids that may have begun since.
    """

    elapsed_ms: int
    day: int
    since_midnight_ms: int
    namespaces: tuple[str, ...]


def skip_ids(row: tuple[int, int] | None, loss: Loss) -> tuple[int, int]:
    """Return the `(day, next)` of an id segment from which nothing can have been issued yet.

    A row of a later day than the restore's comes of a clock that ran ahead; its day is kept.
    """
    day, next_id = row if row is not None else (loss.day, 0)
    if day > loss.day:
        return day, min(IDS_PER_DAY, next_id + MARGIN)
    reached = loss.since_midnight_ms * PER_MS_MAX + MARGIN
    return loss.day, max(reached, next_id) if day == loss.day else reached


def skip_positions(loss: Loss) -> int:
    """Return how many positions of the log to leave out."""
    return loss.elapsed_ms * PER_MS_MAX + MARGIN


def skip_numbers(loss: Loss) -> int:
    """Return how many running numbers of a table to leave out."""
    return loss.elapsed_ms * NUMBERS_PER_MS_MAX + NUMBERS_MARGIN
