"""An event loop whose time is a number and whose order is drawn: nothing sleeps, and a seed replays every step.

Everything that runs on it belongs to a `Process`, found by its context. A process that was killed is never run again,
one that is frozen keeps what has become ready until it thaws. When nothing is ready the time jumps to the next timer.
It is no loop for sockets, files, threads or signals: whatever asks for them fails.
"""

from __future__ import annotations

import asyncio
import heapq
import random
from collections.abc import Callable
from contextlib import suppress
from contextvars import Context, ContextVar, copy_context
from itertools import count
from typing import Any, TypeVarTuple, Unpack

__all__ = ["PROCESS", "Process", "SimulationLoop", "Stuck"]

Ts = TypeVarTuple("Ts")

US_PER_S = 1_000_000
STEP_US = 3
"""What a step takes: so little that waits rule, and not nothing, so that whoever spins gets nowhere for ever."""

CLOSES_MAX = 100
"""A task that answers so many ends with a further wait is left as it is."""


class Stuck(Exception):
    """Nothing is ready and nobody waits for a time, or there were more steps than any run may take."""


class Process:
    """What lives and dies together. Tasks that it starts, and what they start, are its own."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.is_dead = False
        self.is_frozen = False
        self.slow_us = 0
        """Whatever becomes ready waits up to this long before it may run."""
        self.held: list[asyncio.Handle] = []


PROCESS: ContextVar[Process | None] = ContextVar("process", default=None)


class SimulationLoop(asyncio.BaseEventLoop):
    """See above.

    Args:
        steps_max: more are taken for a loop that turns without getting anywhere.
    """

    def __init__(self, chance: random.Random, *, steps_max: int = 1_000_000) -> None:
        super().__init__()
        self.now_us = 0
        self.step_count = 0
        self.digest = 0
        """Follows from the order and the time of every step so far."""
        self.complaints: list[str] = []
        """What went wrong where nobody waited for it, in processes that live."""
        self._chance = chance
        self._steps_max = steps_max
        self._runnable: list[asyncio.Handle] = []
        self._timers: list[tuple[int, int, asyncio.Handle]] = []
        self._numbers = count()
        self._tasks: list[asyncio.Task[Any]] = []
        self._is_over = False

    def time(self) -> float:
        """Return seconds since this loop was made."""
        return self.now_us / US_PER_S

    def call_soon(
        self, callback: Callable[[Unpack[Ts]], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        """Make a call ready; when it is run is up to chance."""
        handle = asyncio.Handle(callback, args, self, context or copy_context())
        process = _context_of(handle).get(PROCESS)
        if self._is_over or (process is not None and process.is_dead):
            return handle
        if process is not None and process.slow_us:
            self._set_timer(self.now_us + self._chance.randrange(process.slow_us), handle)
        else:
            self._runnable.append(handle)
        return handle

    def call_at(
        self, when: float, callback: Callable[[Unpack[Ts]], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Make a call ready at a time of this loop."""
        handle = asyncio.TimerHandle(when, callback, args, self, context or copy_context())
        if not self._is_over:
            self._set_timer(round(when * US_PER_S), handle)
        return handle

    def call_later(
        self, delay: float, callback: Callable[[Unpack[Ts]], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Make a call ready after some seconds of this loop."""
        return self.call_at(self.now_us / US_PER_S + delay, callback, *args, context=context)

    def create_task(self, coro: Any, *, name: object = None, context: Context | None = None) -> asyncio.Task[Any]:
        """Start a task, in the process of the caller unless the context says otherwise."""
        task = _NumberedTask(coro, loop=self, name=str(name or ""), context=context)
        self._tasks.append(task)
        return task

    def start(self, process: Process, coro: Any) -> asyncio.Task[Any]:
        """Start a task as part of a process."""
        context = copy_context()
        context.run(PROCESS.set, process)
        return self.create_task(coro, context=context)

    def thaw(self, process: Process) -> None:
        """Let a frozen process go on with all that has become ready meanwhile."""
        process.is_frozen = False
        self._runnable += process.held
        process.held = []

    async def pause_us(self, duration_us: int) -> None:
        """Wait until the time of this loop has moved on."""
        done = self.create_future()
        self.call_at((self.now_us + duration_us) / US_PER_S, _finish, done)
        await done

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Write down what nobody waited for."""
        process = PROCESS.get()
        if process is None or not process.is_dead:
            self.complaints.append(f"{context.get('message')}: {context.get('exception')!r}")

    def dispose(self) -> None:
        """End every task where it stands, and close. Nothing of what they do then is run or written down."""
        self._is_over = True
        for task in self._tasks:
            if not task.done():
                task._log_destroy_pending = False  # type: ignore[attr-defined]
                _close(task.get_coro())
        self._tasks.clear()
        self.close()

    def _set_timer(self, when_us: int, handle: asyncio.Handle) -> None:
        heapq.heappush(self._timers, (when_us, next(self._numbers), handle))

    def _run_once(self) -> None:
        timers, runnable = self._timers, self._runnable
        if not runnable:
            if not timers:
                raise Stuck("nothing is ready and nobody waits for a time")
            self.now_us = max(self.now_us, timers[0][0])
        while timers and timers[0][0] <= self.now_us:
            runnable.append(heapq.heappop(timers)[2])
        index = int(self._chance.random() * len(runnable))
        runnable[index], runnable[-1] = runnable[-1], runnable[index]
        handle = runnable.pop()
        if handle.cancelled():
            return
        process = _context_of(handle).get(PROCESS)
        if process is not None:
            if process.is_dead:
                return
            if process.is_frozen:
                process.held.append(handle)
                return
        self.now_us += STEP_US
        self.step_count += 1
        self.digest = (self.digest * 1_000_003 ^ self.now_us ^ index << 40 ^ len(runnable) << 50) & (1 << 64) - 1
        if self.step_count > self._steps_max:
            raise Stuck(f"{self.step_count} steps")
        handle._run()

    def _process_events(self, event_list: Any) -> None:
        """Nothing comes from outside."""


class _NumberedTask(asyncio.Task[Any]):
    """Has a hash that does not depend on where it lies, so that sets of tasks have an order that can be replayed."""

    def __new__(cls, coro: Any, *, loop: SimulationLoop, **options: Any) -> _NumberedTask:
        task = super().__new__(cls)
        task.number = len(loop._tasks)
        return task

    number: int

    def __hash__(self) -> int:
        return self.number


def _context_of(handle: asyncio.Handle) -> Context:
    return handle._context  # type: ignore[attr-defined,no-any-return]


def _finish(done: asyncio.Future[None]) -> None:
    if not done.done():
        done.set_result(None)


def _close(coroutine: Any) -> None:
    close: Callable[[], None] = coroutine.close
    for _ in range(CLOSES_MAX):
        # Whoever waits again while it is being ended is ended there too.
        with suppress(Exception, BaseExceptionGroup):
            close()
            return
