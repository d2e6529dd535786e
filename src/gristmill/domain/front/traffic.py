"""How much came in and was done, interval by interval."""

from __future__ import annotations

import msgspec

__all__ = ["Interval", "decide_count"]

PLAUSIBLE_PER_MS = 200
"""Ten times what two processors reach. More between two moments is a leap of the counter, as after a restore."""


class Interval(msgspec.Struct, frozen=True):
    """A stretch of time.

    Attributes:
        at_ms: where it begins.
        appended: records that were appended, to any topic but those left out; None where nobody can tell.
        ended: runs that were committed.
    """

    at_ms: int
    appended: int | None
    ended: int | None


def decide_count(number: int, *, step_ms: int) -> int | None:
    """Return how many rows lie between two numbers that count them, None where the numbers have leapt."""
    return number if number <= PLAUSIBLE_PER_MS * step_ms else None
