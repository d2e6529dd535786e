"""Notices inline tasks that hold up the event loop."""

from __future__ import annotations

from collections import Counter

import structlog

from gristmill.ports.clock import Clock

__all__ = ["INLINE_US_MAX", "Watchdog"]

INLINE_US_MAX = 5_000
"""What an inline task may take: at 5 ms, two hundred of them already fill a second of every other Run's time."""

LOOK_US = 2_000
"""A look at the CPU time of a thread costs as much as a small task, so it serves all that begins this soon after."""

log = structlog.get_logger(__name__)


class Watchdog:
    """Counts slow calls for each Task and warns of each Task once.

    On a busy host a call may take long since another thread or process has its turn; that is not the task's fault. So
    one that took long by the wall clock is asked how long its thread really worked, and blamed for no more than that.
    """

    def __init__(self, plan: str, clock: Clock) -> None:
        self._plan = plan
        self._thread_us = clock.thread_us
        self._looked_at_us = -LOOK_US - 1
        self._cpu_us = 0
        self.slow_calls: Counter[str] = Counter()
        """Task name -> inline calls that worked for longer than `INLINE_US_MAX`."""

    def look(self, now_us: int) -> None:
        """Note the CPU time of this thread, unless that was done a moment ago. Call it before what may be slow."""
        if now_us - self._looked_at_us > LOOK_US:
            self._looked_at_us, self._cpu_us = now_us, self._thread_us()

    def measure_wait_us(self, now_us: int) -> int:
        """Return the time since the last look in which this thread did not work."""
        return now_us - self._looked_at_us - (self._thread_us() - self._cpu_us)

    def note(self, task: str, took_us: int, *, waited_us: int) -> None:
        """Take down one call that took too long, unless it may just have waited.

        Args:
            waited_us: how long the thread did not work in a time in which this call lies.
        """
        if took_us - waited_us <= INLINE_US_MAX:
            return
        self.slow_calls[task] += 1
        if self.slow_calls[task] == 1:
            advice = "declare it runs='thread' or 'process', or make it faster"
            log.warning("inline_task_slow", plan=self._plan, task=task, took_us=took_us, advice=advice)
