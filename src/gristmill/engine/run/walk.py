"""Carries out what the marking asks for: calls tasks, keeps results and reports, waits between attempts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from gristmill.domain.outcome import Done, End, Skip
from gristmill.domain.run import TaskReport
from gristmill.engine.core.attempts import Again, Attempts, Ending, Failed
from gristmill.engine.core.layout import Layout
from gristmill.engine.core.marking import Marking
from gristmill.engine.run.calls import FAILURES, Workers, attempt_once, is_cancelled
from gristmill.engine.run.steps import Slots, Step
from gristmill.engine.run.straight import Passed
from gristmill.engine.run.unrolled import NS_PER_US
from gristmill.engine.run.watchdog import INLINE_US_MAX, Watchdog
from gristmill.ports.clock import Clock

__all__ = ["Kit", "Walk"]


class Kit(msgspec.Struct, frozen=True, eq=False):
    """What all walks of one plan share."""

    steps: tuple[Step, ...]
    layout: Layout
    template: Slots
    clock: Clock
    now_us: Callable[[], int]
    workers: Workers
    watchdog: Watchdog


class _Postponed(msgspec.Struct, frozen=True, gc=False):
    """A task met where nothing can wait: one that does not run inline, or has to wait before its next attempt."""

    step: Step
    attempts: Attempts
    again: Again | None


class Walk:
    """One Run under way."""

    __slots__ = (
        "_began_us",
        "_group",
        "_kit",
        "_origin_us",
        "_postponed",
        "_sleepers",
        "marking",
        "reports",
        "slots",
    )

    def __init__(self, kit: Kit, slots: Slots, *, origin_us: int) -> None:
        self._kit = kit
        self._origin_us = origin_us
        self._began_us: dict[int, int] = {}
        self._postponed: list[_Postponed] = []
        self._group: asyncio.TaskGroup | None = None
        self._sleepers: dict[int, asyncio.Task[None]] = {}
        self.slots = slots
        self.marking = Marking(kit.layout)
        self.reports: list[TaskReport | None] = [None] * len(kit.steps)

    def go_nowait(self, passed: Passed | None = None) -> bool:
        """Call tasks until the Run is over, or until one has to wait; return whether it is over.

        `passed` is how far the Run came on the short way.
        """
        self._follow(self.marking.start() if passed is None else self._take_over(passed))
        for late in self._postponed:
            # What closed the Run may have come after the postponement.
            if self.marking.wants(late.step.index):
                continue
            if late.again is None:
                self._follow(self.marking.on_withdrawn(late.step.index))
            else:
                self._follow(self._settle(late.step, late.attempts.calls, late.again.otherwise))
        self._postponed = [late for late in self._postponed if self.marking.states[late.step.index] == "running"]
        return not self._postponed

    async def go(self, *, is_started: bool) -> None:
        """Go to the end of the Run. When cancelled, everything that runs for it is cancelled and awaited first."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            for late in self._postponed:
                group.create_task(self._attend(late.step, late.attempts, late.again))
            if not is_started:
                self._follow(self.marking.start())
        self._group = None

    def _take_over(self, passed: Passed) -> list[int]:
        """Mark what was called on the short way, and return what is ready after the answer that ended it."""
        steps, reports, marking, origin_us = self._kit.steps, self.reports, self.marking, self._origin_us
        ready = marking.start()
        began_us = origin_us
        for index, ended_ns in zip(passed.order, passed.ends_ns, strict=False):
            ended_us = ended_ns // NS_PER_US
            reports[index] = TaskReport(steps[index].name, "done", 1, began_us - origin_us, ended_us - began_us)
            ready += marking.on_done(index)
            began_us = ended_us
        del ready[: len(passed.ends_ns)]
        index = ready[0]
        step, attempts = steps[index], Attempts(steps[index].operator)
        self._began_us[index] = began_us
        error, value = passed.error, passed.value
        ready += self._judge(step, attempts, attempts.on_value(value) if error is None else attempts.on_error(error))
        self._withdraw_after(index, ready)
        return ready[1:]

    def _follow(self, ready: list[int]) -> None:
        """Call what is ready, and what becomes ready by that; start what does not run inline.

        This is the hot loop. A plain inline task that gives what it promises costs one pass, one look at the clock (a
        task begins where the one before it ended) and no frames but its own and the marking's.
        """
        kit, slots, reports, marking = self._kit, self.slots, self.reports, self.marking
        steps, now_us, origin_us = kit.steps, kit.now_us, self._origin_us
        began_us = now_us()
        kit.watchdog.look(began_us)
        for index in ready:
            step = steps[index]
            if not step.is_plain:
                ready += self._start_aside(step)
                self._withdraw_after(index, ready)
                began_us = now_us()
                continue
            try:
                value = step.call(slots)
            except FAILURES as error:
                attempts = Attempts(step.operator)
                self._began_us[index] = began_us
                ready += self._judge(step, attempts, attempts.on_error(error))
                self._withdraw_after(index, ready)
                began_us = now_us()
                continue
            ended_us = now_us()
            took_us = ended_us - began_us
            if took_us > INLINE_US_MAX:
                kit.watchdog.note(step.name, took_us, waited_us=kit.watchdog.measure_wait_us(ended_us))
            if type(value) is step.result:
                slots[step.slot] = value
                reports[index] = TaskReport(step.name, "done", 1, began_us - origin_us, took_us)
                ready += marking.on_done(index)
            else:
                attempts = Attempts(step.operator)
                self._began_us[index] = began_us
                ready += self._judge(step, attempts, attempts.on_value(value))
                self._withdraw_after(index, ready)
            began_us = ended_us

    def _withdraw_after(self, index: int, ready: list[int]) -> None:
        """Take out of `ready` what comes after `index` and is no longer wanted, since the Run was closed just now."""
        if not self.marking.is_closed:
            return
        coming = ready.index(index) + 1
        unwanted = [other for other in ready[coming:] if not self.marking.wants(other)]
        ready[coming:] = [other for other in ready[coming:] if self.marking.wants(other)]
        for other in unwanted:
            ready += self.marking.on_withdrawn(other)

    def _start_aside(self, step: Step) -> list[int]:
        """Start a task that has rules or does not run inline."""
        attempts = Attempts(step.operator)
        self._began_us[step.index] = self._kit.now_us()
        ending = _ask_rules(step)
        if ending is not None:
            return self._settle(step, 0, ending)
        if not step.is_inline:
            self._go_aside(step, attempts, None)
            return []
        return self._judge(step, attempts, self._call_inline(step, attempts))

    def _call_inline(self, step: Step, attempts: Attempts) -> Again | Ending:
        watchdog, began_us = self._kit.watchdog, self._kit.now_us()
        watchdog.look(began_us)
        try:
            value = step.call(self.slots)
        except FAILURES as error:
            return attempts.on_error(error)
        finally:
            ended_us = self._kit.now_us()
            if ended_us - began_us > INLINE_US_MAX:
                watchdog.note(step.name, ended_us - began_us, waited_us=watchdog.measure_wait_us(ended_us))
        return attempts.on_value(value)

    def _judge(self, step: Step, attempts: Attempts, answer: Again | Ending) -> list[int]:
        if not isinstance(answer, Again):
            return self._settle(step, attempts.calls, answer)
        if not self.marking.wants(step.index):
            return self._settle(step, attempts.calls, answer.otherwise)
        self._go_aside(step, attempts, answer)
        return []

    def _settle(self, step: Step, calls: int, ending: Ending) -> list[int]:
        """Tell the marking how a task ended, write its report, and return what is ready now."""
        index, marking = step.index, self.marking
        match ending:
            case Done(result):
                self.slots[step.slot] = result
                ready = marking.on_done(index)
            case Skip(reason):
                ready = marking.on_skip(index, reason)
            case End(state, reason):
                ready = marking.on_end(index, state, reason)
            case Failed(text, error_class):
                ready = marking.on_failed(index, text, error_class)
        began_us = self._began_us.pop(index)
        self.reports[index] = TaskReport(
            step.name,
            marking.status_of(index),
            calls,
            began_us - self._origin_us,
            self._kit.now_us() - began_us,
            marking.reason_of(index),
        )
        for sleeping, sleeper in self._sleepers.items():
            if not marking.wants(sleeping):
                sleeper.cancel()
        return ready

    def _go_aside(self, step: Step, attempts: Attempts, again: Again | None) -> None:
        if self._group is None:
            self._postponed.append(_Postponed(step, attempts, again))
        else:
            self._group.create_task(self._attend(step, attempts, again))

    async def _attend(self, step: Step, attempts: Attempts, again: Again | None) -> None:
        """See one task that waits to its ending, then go on with what that makes ready."""
        if again is None and not self.marking.wants(step.index):
            # The Run was closed between the order to start this task and its start.
            self._follow(self.marking.on_withdrawn(step.index))
            return
        if again is None:
            # It may have been reached long before there was a permit to wait for it.
            self._began_us[step.index] = self._kit.now_us()
        ending = await self._attempt(step, attempts, again)
        self._follow(self._settle(step, attempts.calls, ending))

    async def _attempt(self, step: Step, attempts: Attempts, again: Again | None) -> Ending:
        while True:
            if again is not None:
                await self._pause(step.index, again.wait_ms)
                if not self.marking.wants(step.index):
                    return again.otherwise
            if step.is_inline:
                answer = self._call_inline(step, attempts)
            else:
                answer = await attempt_once(step, self.slots, attempts, self._kit.workers)
            if is_cancelled():
                # The task's function swallowed the cancellation; nothing more may start for this Run.
                raise asyncio.CancelledError
            if not isinstance(answer, Again):
                return answer
            again = answer

    async def _pause(self, index: int, wait_ms: int) -> None:
        """Wait, or stop waiting as soon as the Run can do without this task."""
        if self._group is None or wait_ms == 0 or not self.marking.wants(index):
            return
        self._sleepers[index] = self._group.create_task(self._kit.clock.sleep_ms(wait_ms))
        try:
            await self._sleepers[index]
        except asyncio.CancelledError:
            if is_cancelled():
                raise
        finally:
            del self._sleepers[index]


def _ask_rules(step: Step) -> Ending | None:
    """Return the ending of a task that its disable rules keep from running; a rule that raises fails the task."""
    try:
        for rule in step.rules:
            reason = rule(step.situation)
            if reason is not None:
                return Skip(reason)
    except FAILURES as error:
        return Failed(f"disable rule: {type(error).__name__}: {error}", type(error).__name__)
    return None
