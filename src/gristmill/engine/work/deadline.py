"""One time-out for many runs, with one sleeper for all: every run has the same time, so the oldest is due first."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Coroutine
from typing import Any, TypeVar

from gristmill.domain.errors import InvariantBroken
from gristmill.engine.wake import Wake
from gristmill.ports.clock import Clock

__all__ = ["Deadlines"]

T = TypeVar("T")


class Deadlines:
    """Ends what takes longer than `timeout_ms`; `run` must run beside it."""

    def __init__(self, clock: Clock, *, timeout_ms: int) -> None:
        self._clock = clock
        self._timeout_ms = timeout_ms
        self._guarded: deque[_Guarded] = deque()
        self._added = Wake()

    async def run(self) -> None:
        """Cancel each run at its deadline, for ever."""
        while True:
            while self._guarded and self._guarded[0].task is None:
                self._guarded.popleft()
            if not self._guarded:
                await self._added.wait()
                continue
            pause_ms = self._guarded[0].due_at_ms - self._now_ms()
            if pause_ms > 0:
                await self._clock.sleep_ms(pause_ms)
            else:
                self._guarded.popleft().expire()

    async def guard(self, work: Coroutine[Any, Any, T]) -> T:
        """Await `work` and return what it returns.

        Raises:
            TimeoutError: it took too long and has been cancelled.
        """
        task = asyncio.current_task()
        if task is None:
            raise InvariantBroken("a run is guarded outside a task")
        guarded = _Guarded(task, self._now_ms() + self._timeout_ms)
        self._guarded.append(guarded)
        self._added.set()
        try:
            return await work
        except asyncio.CancelledError:
            # A cancellation from outside that came as well goes on as what it is.
            if guarded.is_expired and task.uncancel() == 0:
                raise TimeoutError from None
            raise
        finally:
            guarded.task = None

    def _now_ms(self) -> int:
        return self._clock.monotonic_us() // 1_000


class _Guarded:
    __slots__ = ("due_at_ms", "is_expired", "task")

    def __init__(self, task: asyncio.Task[Any], due_at_ms: int) -> None:
        self.task: asyncio.Task[Any] | None = task
        self.due_at_ms = due_at_ms
        self.is_expired = False

    def expire(self) -> None:
        if self.task is not None:
            self.is_expired = True
            self.task.cancel()
