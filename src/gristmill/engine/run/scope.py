"""What a task may know of its Run, and what a Run hands to whoever commits it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from gristmill.domain.commit import Contributed
from gristmill.domain.ids import RunId
from gristmill.domain.item import AppliedLabel, Cell
from gristmill.domain.run import Effect, RunStatus, TaskReport
from gristmill.plans.resources import RunEnd

if TYPE_CHECKING:
    from gristmill.engine.run.walk import Walk

__all__ = ["Ended", "Scope"]


class Ended(msgspec.Struct, frozen=True, gc=False):
    """A Run that is over: what it wants written. A failed Run wants nothing but its status and reports.

    Attributes:
        error: text of what failed, the original error first ("ValueError: x"); empty unless `failed`.
        error_class: short name that groups alike failures; empty unless `failed`.
        failed_task: the first task that failed; empty unless `failed`.
        tasks: one report for each Task, in the order of the graph. So are cells, labels, contributions and effects:
            equal inputs give equal records, whatever ran beside what.
        on_end: call each of them once with True after the Run's commit, with False if it failed or was fenced.
    """

    status: RunStatus
    reason: str = ""
    error: str = ""
    error_class: str = ""
    failed_task: str = ""
    tasks: tuple[TaskReport, ...] = ()
    cells: tuple[Cell, ...] = ()
    labels: tuple[AppliedLabel, ...] = ()
    contributions: tuple[Contributed, ...] = ()
    effects: tuple[Effect, ...] = ()
    on_end: tuple[RunEnd, ...] = ()

    @property
    def is_success(self) -> bool:
        return self.status != "failed"


class Scope(msgspec.Struct, eq=False):
    """One drive of one Run; implements `plans.resources.RunScope`. Use a new one for each drive.

    Args:
        position: log position of the item's record, equal on redelivery.
        arrived_at_ms: when the record entered the log, UTC epoch.
        attempt: which delivery of the record this is, from 1.
        walk: where `try_drive_nowait` had to stop; the driver's own, for `drive` to go on from.
    """

    run_id: RunId
    plan: str
    position: int = 0
    arrived_at_ms: int = 0
    attempt: int = 1
    walk: Walk | None = None
    callbacks: tuple[RunEnd, ...] = ()
    """Everything given to `on_end` so far, in order."""

    def on_end(self, callback: RunEnd) -> None:
        """Have `callback` called once after the Run's commit."""
        self.callbacks += (callback,)
