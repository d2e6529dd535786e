"""What moving a group within one partition does, from what it has committed there."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

__all__ = ["count_move"]


def count_move(*, base: int, complete: AbstractSet[int], low: int, target: int) -> tuple[int, int]:
    """Return (records that come again, records that are skipped) when a group goes on at `target`.

    Args:
        base: the committed offset.
        complete: offsets above it that are done with.
        low: the first offset that there still is.
    """
    done_from_target = sum(offset >= target for offset in complete)
    again = max(0, base - max(target, low)) + done_from_target
    skipped = max(0, target - base - (len(complete) - done_from_target))
    return again, skipped
