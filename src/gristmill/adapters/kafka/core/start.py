"""Where reading a partition begins, and what is lost when it cannot begin where the group had come to."""

from __future__ import annotations

import msgspec

__all__ = ["Start", "decide_start"]


class Start(msgspec.Struct, frozen=True):
    """Begin at `base`; `metadata` still holds there.

    Attributes:
        lost: records that the group had not done with and that are gone.
    """

    base: int
    metadata: str
    lost: int


def decide_start(*, committed: int | None, metadata: str, low: int, high: int) -> Start:
    """Decide by the committed offset and the first and next offset that the partition holds.

    A new group starts at the oldest record. One that finds its place gone starts at the oldest one too, but says so:
    the records between are lost to it. A place beyond the end means that the topic was made anew under its name.
    """
    if committed is None:
        return Start(low, "", 0)
    if committed < low:
        return Start(low, "", low - committed)
    if committed > high:
        return Start(low, "", 0 if high == low else committed - high)
    return Start(committed, metadata, 0)
