"""The short way through a plan whose tasks all run inline and without rules.

For as long as each task gives what it promises, the order of the calls is known beforehand, and there is nothing to
mark: the Run is one pass over a list. At the first answer that is anything else a Walk takes over where the pass ended.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from gristmill.domain.run import TaskReport
from gristmill.engine.core.layout import Layout
from gristmill.engine.core.marking import Marking
from gristmill.engine.run.calls import FAILURES
from gristmill.engine.run.steps import Slots, Step
from gristmill.engine.run.watchdog import INLINE_US_MAX, Watchdog

__all__ = ["Passed", "StraightWay"]


class Passed(NamedTuple):
    """How far a pass came.

    Attributes:
        order: indexes of the steps in the order of their calls.
        ends_us: when each call was over that gave what it promises.
        value, error: what the next call returned or raised, if there is a next one.
    """

    origin_us: int
    order: Sequence[int]
    ends_us: list[int]
    value: Any = None
    error: BaseException | None = None

    @property
    def is_whole(self) -> bool:
        """Whether every call gave what it promises."""
        return len(self.ends_us) == len(self.order)


class StraightWay:
    """One for each plan."""

    def __init__(
        self,
        steps: Sequence[Step],
        layout: Layout,
        *,
        now_us: Callable[[], int],
        watchdog: Watchdog,
    ) -> None:
        self._order = _order_of(layout)
        in_order = [steps[index] for index in self._order]
        self._calls = [(step.call, step.result, step.slot) for step in in_order]
        self._names = [step.name for step in in_order]
        self._ranks = [self._order.index(index) for index in range(len(steps))]
        self._is_sorted = self._ranks == sorted(self._ranks)
        self._now_us = now_us
        self._watchdog = watchdog

    @staticmethod
    def is_open_to(steps: Sequence[Step]) -> bool:
        """Return whether a plan of these steps can be passed."""
        return all(step.is_plain for step in steps)

    def go(self, slots: Slots) -> Passed:
        """Call one task after the other, until one gives anything but its result."""
        now_us = self._now_us
        origin_us = now_us()
        self._watchdog.look(origin_us)
        ends_us: list[int] = []
        passed = Passed(origin_us, self._order, ends_us)
        try:
            for call, result, slot in self._calls:
                value = call(slots)
                if type(value) is not result:
                    passed = passed._replace(value=value)
                    break
                slots[slot] = value
                ends_us.append(now_us())
        except FAILURES as error:
            passed = passed._replace(error=error)
        over_us = ends_us[-1] if len(ends_us) == len(self._order) else now_us()
        if over_us - origin_us > INLINE_US_MAX:
            self._blame(passed, over_us)
        return passed

    def report(self, passed: Passed) -> tuple[TaskReport, ...]:
        """Return the reports of a whole pass, in the order of the graph."""
        origin_us, ends_us = passed.origin_us, passed.ends_us
        reports = [
            TaskReport(name, "done", 1, began_us - origin_us, ended_us - began_us)
            for name, began_us, ended_us in zip(self._names, [origin_us, *ends_us], ends_us, strict=False)
        ]
        return tuple(reports if self._is_sorted else [reports[rank] for rank in self._ranks])

    def _blame(self, passed: Passed, over_us: int) -> None:
        began_us = passed.origin_us
        waited_us = self._watchdog.measure_wait_us(over_us)
        for name, ended_us in zip(self._names, [*passed.ends_us, over_us], strict=False):
            took_us = ended_us - began_us
            if took_us > INLINE_US_MAX:
                self._watchdog.note(name, took_us, waited_us=waited_us)
            began_us = ended_us


def _order_of(layout: Layout) -> list[int]:
    """Return the order in which a Walk calls the tasks of a Run when each gives what it promises."""
    marking = Marking(layout)
    order = marking.start()
    for index in order:
        order += marking.on_done(index)
    return order
