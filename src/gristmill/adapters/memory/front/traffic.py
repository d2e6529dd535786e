"""Counts over time, by looking at everything that memory holds."""

from __future__ import annotations

from collections.abc import Sequence

from gristmill.adapters.checks import check_limit
from gristmill.adapters.memory.ledger import Ledger
from gristmill.adapters.memory.state import MemoryState
from gristmill.domain.front.traffic import Interval
from gristmill.ports.front import INTERVALS_PER_READ_MAX

__all__ = ["MemoryTraffic"]


class MemoryTraffic:
    """See `ports.front.Traffic`."""

    def __init__(self, ledger: Ledger, state: MemoryState) -> None:
        self._ledger = ledger
        self._state = state

    async def count(self, *, since_ms: int, step_ms: int, limit: int, without: Sequence[str] = ()) -> list[Interval]:
        """Return `limit` intervals of `step_ms`, the first from `since_ms` on."""
        check_limit(limit, most=INTERVALS_PER_READ_MAX)
        topics = [topic for name, topic in self._ledger.topics.items() if name not in without]
        appended = [placed.appended_at_ms for topic in topics for placed in topic.records.values()]
        ended = self._state.ends()
        starts = range(since_ms, since_ms + limit * step_ms, step_ms)
        return [Interval(at_ms, _within(appended, at_ms, step_ms), _within(ended, at_ms, step_ms)) for at_ms in starts]


def _within(times_ms: list[int], at_ms: int, step_ms: int) -> int:
    return sum(at_ms <= one < at_ms + step_ms for one in times_ms)
