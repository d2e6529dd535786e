"""Decides what to do about a child that died: again after a while, or give up. Pure.

A child that dies once in a while is only restarted. One that cannot live would restart for ever and hide that nothing
is done: after 5 deaths in 10 minutes the whole group ends, so that whoever watches it sees it.
"""

from __future__ import annotations

from collections import defaultdict, deque

import msgspec

__all__ = ["GiveUp", "Restart", "Supervision"]

DEATHS_MAX = 5
WINDOW_MS = 10 * 60 * 1_000
BACKOFF_MS_FIRST = 1_000
BACKOFF_MS_MAX = 60_000


class Restart(msgspec.Struct, frozen=True):
    """Start the child again after `delay_ms`."""

    delay_ms: int


class GiveUp(msgspec.Struct, frozen=True):
    """End the group: this child died `deaths` times in the window."""

    deaths: int


class Supervision:
    """Remembers deaths by child."""

    def __init__(self) -> None:
        self._deaths: defaultdict[str, deque[int]] = defaultdict(deque)

    def on_death(self, child: str, *, now_ms: int) -> Restart | GiveUp:
        """Note a death at a monotonic time and return what to do."""
        deaths = self._deaths[child]
        deaths.append(now_ms)
        while deaths[0] <= now_ms - WINDOW_MS:
            deaths.popleft()
        if len(deaths) >= DEATHS_MAX:
            return GiveUp(len(deaths))
        return Restart(min(BACKOFF_MS_MAX, BACKOFF_MS_FIRST * 2 ** (len(deaths) - 1)))
