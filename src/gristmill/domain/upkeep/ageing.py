"""As of when ages are counted: by the clock, as long as that goes as time does. Pure.

A clock that is years ahead by mistake makes everything old at once, and what was let go of does not come back when it
is set right. So the time that ages are counted from follows the clock at a bounded speed: a group that stood still for
a month has caught up after a day and a half, and a wrong clock takes a day at first and then a day an hour, in which it
is noticed.
"""

from __future__ import annotations

__all__ = ["CATCH_UP", "LEAP_MS", "follow_clock"]

LEAP_MS = 86_400_000
"""What a process may find at its first sweep: nobody was here overnight."""

CATCH_UP = 24
"""Times as fast as the time that a process itself has seen go by."""


def follow_clock(now_ms: int, reached_ms: int | None, *, elapsed_ms: int | None) -> int:
    """Return how far the time of ages goes on towards the clock, which may also lie behind it.

    Args:
        reached_ms: how far it had come, None where nobody ever swept.
        elapsed_ms: since then by a clock that nobody sets; None where this process does not know.
    """
    if reached_ms is None:
        return now_ms
    leap_ms = LEAP_MS if elapsed_ms is None else CATCH_UP * max(0, elapsed_ms)
    return min(max(now_ms, reached_ms - leap_ms), reached_ms + leap_ms)
