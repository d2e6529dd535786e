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
from gristmill.engine.run.unrolled import NS_PER_US, WHOLE, unroll_calls, unroll_reports
from gristmill.engine.run.watchdog import INLINE_US_MAX, Watchdog

__all__ = ["Passed", "StraightWay"]


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
        self._call_all = unroll_calls(in_order)
        self._report = unroll_reports(in_order)
        self._names = [step.name for step in in_order]
        self._now_ns = now_ns
        self._watchdog = watchdog

    @staticmethod
    def is_open_to(steps: Sequence[Step]) -> bool:
        """Return whether a plan of these steps can be passed."""
        return all(step.is_plain for step in steps)

    def go(self, slots: Slots) -> Passed:
        """Call one task after the other, until one gives anything but its result."""
        origin_ns = self._now_ns()
        self._watchdog.look(origin_ns // NS_PER_US)
        ends_ns: list[int] = []
        value: Any = None
        failure: BaseException | None = None
        try:
            value = self._call_all(slots, ends_ns.append, self._now_ns)
        except FAILURES as error:
            failure = error
        is_whole = value is WHOLE
        passed = Passed(origin_ns, self._order, ends_ns, is_whole, value, failure)
        over_ns = ends_ns[-1] if is_whole else self._now_ns()
        if over_ns - origin_ns > INLINE_US_MAX * NS_PER_US:
            self._blame(passed, over_ns)
        return passed

    def report(self, passed: Passed) -> tuple[TaskReport, ...]:
        """Return the reports of a whole pass, in the order of the graph."""
        return self._report(passed.origin_ns, passed.ends_ns)

    def _blame(self, passed: Passed, over_ns: int) -> None:
        began_ns = passed.origin_ns
        waited_us = self._watchdog.measure_wait_us(over_ns // NS_PER_US)
        for name, ended_ns in zip(self._names, [*passed.ends_ns, over_ns], strict=False):
            took_us = (ended_ns - began_ns) // NS_PER_US
            if took_us > INLINE_US_MAX:
                self._watchdog.note(name, took_us, waited_us=waited_us)
            began_ns = ended_ns


def _order_of(layout: Layout) -> list[int]:
    """Return the order in which a Walk calls the tasks of a Run when each gives what it promises."""
    marking = Marking(layout)
    order = marking.start()
    for index in order:
        order += marking.on_done(index)
    return order
