"""Notices inline tasks that hold up the event loop."""

from __future__ import annotations

from collections import Counter

import structlog

__all__ = ["INLINE_US_MAX", "Watchdog"]

INLINE_US_MAX = 5_000
"""What an inline task may take: at 5 ms, two hundred of them already fill a second of every other Run's time."""

log = structlog.get_logger(__name__)


class Watchdog:
    """Counts slow calls for each Task and warns of each Task once."""

    def __init__(self, plan: str) -> None:
        self._plan = plan
        self.slow_calls: Counter[str] = Counter()
        """Task name -> inline calls that took longer than `INLINE_US_MAX`."""

    def note(self, task: str, took_us: int) -> None:
        """Take down one call that took too long."""
        self.slow_calls[task] += 1
        if self.slow_calls[task] == 1:
            advice = "declare it runs='thread' or 'process', or make it faster"
            log.warning("inline_task_slow", plan=self._plan, task=task, took_us=took_us, advice=advice)
