"""Notices inline tasks that hold up the event loop."""

from __future__ import annotations

from collections import Counter

import structlog

from gristmill.ports.clock import Clock

__all__ = ["INLINE_US_MAX", "Watchdog"]

INLINE_US_MAX = 5_000
"""What an inline task may take: at 5 ms, two hundred of them already fill a second of every other Run's time."""

log = structlog.get_logger(__name__)


class Watchdog:
    """Counts slow calls for each Task and warns of each Task once.

    On a busy host a call may take long since another thread or process has its turn; that is not the task's fault. So
    one that took long by the wall clock is asked how long its thread really worked, and blamed for no more than that.
    """

    def __init__(self, plan: str, clock: Clock) -> None:
        self._plan = plan
        self.cpu_us = clock.thread_us
        """Looks at the CPU time of this thread; read it before the calls that may be noted."""
        self.slow_calls: Counter[str] = Counter()
        """Task name -> inline calls that worked for longer than `INLINE_US_MAX`."""

    def note(self, task: str, took_us: int, *, spent_us: int) -> None:
        """Take down one call that took too long, unless it only waited.

        Args:
            spent_us: CPU time of the thread that cannot have been spent outside this call.
        """
        if spent_us <= INLINE_US_MAX:
            return
        self.slow_calls[task] += 1
        if self.slow_calls[task] == 1:
            advice = "declare it runs='thread' or 'process', or make it faster"
            log.warning("inline_task_slow", plan=self._plan, task=task, took_us=took_us, advice=advice)
