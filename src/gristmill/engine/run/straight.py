"""The short way through a plan whose tasks all run inline and without rules.

For as long as each task gives what it promises, the order of the calls is known beforehand, and there is nothing to
mark: the Run is one pass over a list. At the first answer that is anything else a Walk takes over where the pass ended.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from gristmill.domain.run import TaskReport
from gristmill.engine.core.layout import Layout
from gristmill.engine.core.marking import Marking
from gristmill.engine.run.calls import FAILURES
from gristmill.engine.run.steps import Slots, Step
from gristmill.engine.run.watchdog import INLINE_US_MAX, Watchdog

__all__ = ["NS_PER_US", "Passed", "StraightWay"]

NS_PER_US = 1_000


class Passed(msgspec.Struct, frozen=True, gc=False):
    """How far a pass came.

    Attributes:
        order: indexes of the steps in the order of their calls.
        ends_ns: when each call was over that gave what it promises.
        is_whole: every call gave what it promises.
        value, error: what the next call returned or raised, if there is a next one.
    """

    origin_ns: int
    order: Sequence[int]
    ends_ns: list[int]
    is_whole: bool
    value: Any = None
    error: BaseException | None = None


class StraightWay:
    """One for each plan."""

    def __init__(
        self,
        steps: Sequence[Step],
        layout: Layout,
        *,
        now_ns: Callable[[], int],
        watchdog: Watchdog,
    ) -> None:
        self._order = _order_of(layout)
        in_order = [steps[index] for index in self._order]
        self._calls = [_short_call(step) for step in in_order]
        self._names = [step.name for step in in_order]
        self._ranks = [self._order.index(index) for index in range(len(steps))]
        self._is_sorted = self._ranks == sorted(self._ranks)
        self._now_ns = now_ns
        self._watchdog = watchdog

    @staticmethod
    def is_open_to(steps: Sequence[Step]) -> bool:
        """Return whether a plan of these steps can be passed."""
        return all(step.is_plain for step in steps)

    def go(self, slots: Slots) -> Passed:
        """Call one task after the other, until one gives anything but its result."""
        now_ns = self._now_ns
        origin_ns = now_ns()
        self._watchdog.look(origin_ns // NS_PER_US)
        ends_ns: list[int] = []
        value: Any = None
        failure: BaseException | None = None
        is_whole = False
        try:
            for call, taken, result, slot in self._calls:
                value = call(slots) if taken is None else call(slots[taken])
                if type(value) is not result:
                    break
                slots[slot] = value
                ends_ns.append(now_ns())
            else:
                is_whole = True
        except FAILURES as error:
            value, failure = None, error
        passed = Passed(origin_ns, self._order, ends_ns, is_whole, value, failure)
        over_ns = ends_ns[-1] if is_whole else now_ns()
        if over_ns - origin_ns > INLINE_US_MAX * NS_PER_US:
            self._blame(passed, over_ns)
        return passed

    def report(self, passed: Passed) -> tuple[TaskReport, ...]:
        """Return the reports of a whole pass, in the order of the graph."""
        origin_ns, began_us = passed.origin_ns, 0
        reports: list[TaskReport] = []
        for name, ended_ns in zip(self._names, passed.ends_ns, strict=False):
            ended_us = (ended_ns - origin_ns) // NS_PER_US
            reports.append(TaskReport(name, "done", 1, began_us, ended_us - began_us))
            began_us = ended_us
        return tuple(reports if self._is_sorted else [reports[rank] for rank in self._ranks])

    def _blame(self, passed: Passed, over_ns: int) -> None:
        began_ns = passed.origin_ns
        waited_us = self._watchdog.measure_wait_us(over_ns // NS_PER_US)
        for name, ended_ns in zip(self._names, [*passed.ends_ns, over_ns], strict=False):
            took_us = (ended_ns - began_ns) // NS_PER_US
            if took_us > INLINE_US_MAX:
                self._watchdog.note(name, took_us, waited_us=waited_us)
            began_ns = ended_ns


def _short_call(step: Step) -> tuple[Callable[..., Any], int | None, type, int]:
    """Return what to call, the slot that it takes or None for all slots, its result and where that goes.

    A task that takes one thing, as most do, is called without the step between, which costs as much as a small task.
    """
    if len(step.arguments) == 1:
        return step.function, step.arguments[0], step.result, step.slot
    return step.call, None, step.result, step.slot


def _order_of(layout: Layout) -> list[int]:
    """Return the order in which a Walk calls the tasks of a Run when each gives what it promises."""
    marking = Marking(layout)
    order = marking.start()
    for index in order:
        order += marking.on_done(index)
    return order
