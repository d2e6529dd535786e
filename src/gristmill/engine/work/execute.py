"""Runs the Runs of admitted records: inline ones in a plain loop, the others side by side within a bound."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any

import msgspec

from gristmill.domain.errors import InvariantBroken
from gristmill.engine.driver import Driver, Ended, Scope
from gristmill.engine.marks import Marks
from gristmill.engine.metrics import EngineMetrics
from gristmill.engine.settings import EngineSettings
from gristmill.engine.work.deadline import Deadlines
from gristmill.engine.work.record import RunDone, Todo, Work
from gristmill.ports.clock import Clock
from gristmill.ports.faults import fault

__all__ = ["Executor"]

TURN_US_MAX = 2_000
"""Time that the inline loop keeps the event loop for itself: leases, links and slow plans live on it too."""


class _Begun(msgspec.Struct, frozen=True, gc=False):
    todo: Todo
    scope: Scope


class Executor:
    """Runs records and puts each on once all its Runs are over.

    Args:
        put: takes works whose Runs are over; waits while there are too many of them.
        on_cancelled: takes a work whose Runs were cancelled; nothing will come of it here.
    """

    def __init__(
        self,
        drivers: Mapping[str, Driver],
        *,
        clock: Clock,
        marks: Marks,
        settings: EngineSettings,
        metrics: EngineMetrics,
        put: Callable[[Sequence[Work]], Awaitable[None]],
        on_cancelled: Callable[[Work], Awaitable[None]],
    ) -> None:
        self._drivers = drivers
        self._clock = clock
        self._marks = marks
        self._metrics = metrics
        self._put = put
        self._on_cancelled = on_cancelled
        self._timeout_ms = settings.task_timeout_ms
        self._deadlines = Deadlines(clock, timeout_ms=settings.task_timeout_ms)
        self._permits = asyncio.Semaphore(settings.max_concurrency)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._cancel_count = 0
        self._group: asyncio.TaskGroup | None = None

    async def run(self) -> None:
        """Keep the side-by-side Runs, and end those that take too long, for ever."""
        async with asyncio.TaskGroup() as self._group:
            await self._deadlines.run()

    def cancel_slow(self) -> None:
        """Cancel every Run that is not inline; nothing comes of their records."""
        self._cancel_count += 1
        for task in list(self._tasks):
            task.cancel()

    async def execute(self, works: Sequence[Work]) -> None:
        """Run the inline Runs of these records and start the others."""
        ready: list[Work] = []
        watch = _Watch(self._clock)
        turn_us = watch.now_us
        for work in works:
            slow = self._try_inline(work, watch) if work.todos else None
            if slow:
                self._start(work, slow)
                continue
            ready.append(work)
            if watch.now_us - turn_us > TURN_US_MAX:
                await asyncio.sleep(0)
                turn_us = watch.read_us()
        if ready:
            await self._put(ready)

    def _try_inline(self, work: Work, watch: _Watch) -> list[_Begun] | None:
        """Run what runs inline; return the rest, perhaps begun."""
        slow: list[_Begun] | None = None
        item = work.item
        if item is None:
            return slow
        slot = self._marks.set(work.delivery.lease.offset)
        fault("task.started")
        for todo in work.todos:
            scope = self._make_scope(work, todo)
            ended = self._drivers[todo.plan].try_drive_nowait(item, scope)
            if ended is None:
                slow = slow or []
                slow.append(_Begun(todo, scope))
            else:
                work.done.append(watch.stop(todo, ended))
        self._marks.clear(slot)
        return slow

    def _make_scope(self, work: Work, todo: Todo) -> Scope:
        origin = work.origin
        attempt = work.delivery.attempt + origin.recovery
        return Scope(todo.run_id, todo.plan, origin.offset, origin.arrived_at_ms, attempt)

    def execute_soon(self, work: Work) -> None:
        """Run a record once more, beside whatever runs now."""
        self._create_task(self.execute([work]))

    def _start(self, work: Work, slow: Sequence[_Begun]) -> None:
        self._create_task(self._run_slow(work, slow, cancel_count=self._cancel_count))

    def _create_task(self, coroutine: Coroutine[Any, Any, None]) -> None:
        if self._group is None:
            raise InvariantBroken("executor does not run yet, but has something to execute")
        self._group.create_task(coroutine)

    async def _run_slow(self, work: Work, slow: Sequence[_Begun], *, cancel_count: int) -> None:
        task = asyncio.current_task()
        # A task that is cancelled before its first step never takes it, and nobody would be told. So it can be
        # cancelled only from here on, and looks by itself whether it should have been.
        if task is None or cancel_count != self._cancel_count:
            await self._on_cancelled(work)
            return
        self._tasks.add(task)
        try:
            async with self._permits:
                await self._run_marked(work, slow)
            # Plans end in any order; what is committed does not depend on it.
            order = {todo.run_id: index for index, todo in enumerate(work.todos)}
            work.done.sort(key=lambda done: order[done.todo.run_id])
            await self._put([work])
        except asyncio.CancelledError:
            await self._on_cancelled(work)
            raise
        finally:
            self._tasks.discard(task)

    async def _run_marked(self, work: Work, slow: Sequence[_Begun]) -> None:
        slot = self._marks.set(work.delivery.lease.offset)
        try:
            if len(slow) == 1:
                await self._run_one(work, slow[0])
            else:
                async with asyncio.TaskGroup() as group:
                    for begun in slow:
                        group.create_task(self._run_one(work, begun))
        finally:
            self._marks.clear(slot)

    async def _run_one(self, work: Work, begun: _Begun) -> None:
        item = work.item
        if item is None:
            return
        watch = _Watch(self._clock)
        try:
            ended = await self._deadlines.guard(self._drivers[begun.todo.plan].drive(item, begun.scope))
        except TimeoutError:
            self._metrics.timed_out.inc()
            text = f"timeout: plan {begun.todo.plan!r} took longer than {self._timeout_ms} ms"
            ended = Ended(status="failed", error=text, error_class="timeout", on_end=begun.scope.callbacks)
        work.done.append(watch.stop(begun.todo, ended))


class _Watch:
    """Times Runs that follow one another with one look at the clock for each: where one ends the next begins."""

    __slots__ = ("_base_ms", "_base_us", "_clock", "now_us")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._base_ms = clock.now_ms()
        self._base_us = self.now_us = clock.monotonic_us()

    def read_us(self) -> int:
        """Look at the clock; the next Run begins now."""
        self.now_us = self._clock.monotonic_us()
        return self.now_us

    def stop(self, todo: Todo, ended: Ended) -> RunDone:
        """Return a Run that is over now and began at the last look."""
        began_us, base_ms, base_us = self.now_us, self._base_ms, self._base_us
        self.now_us = now_us = self._clock.monotonic_us()
        started_at_ms = base_ms + (began_us - base_us) // 1_000
        return RunDone(todo, ended, started_at_ms, base_ms + (now_us - base_us) // 1_000, now_us - began_us)
