"""One leased record on its way through an engine, and what its Runs came to."""

from __future__ import annotations

import msgspec

from gristmill.domain.ids import RunId
from gristmill.domain.intake import LeftOut, Violations
from gristmill.domain.item import Item
from gristmill.domain.log import Delivery, Diagnosis
from gristmill.engine.core.recovery import Origin, cut_error_text
from gristmill.engine.run.scope import Ended
from gristmill.plans.plan import Generator

__all__ = ["RunDone", "Todo", "Work"]


class Todo(msgspec.Struct, frozen=True, gc=False):
    """A Run that is to be done."""

    plan: str
    run_id: RunId


class RunDone(msgspec.Struct, frozen=True, gc=False):
    """A Run that is over. Times are UTC epoch."""

    todo: Todo
    ended: Ended
    started_at_ms: int
    ended_at_ms: int
    duration_us: int


class Work(msgspec.Struct, gc=False, eq=False):
    """A record of one frame. It ends in a commit, a report, or both.

    Attributes:
        connection: of the link over which it came; its end is of no interest to a later one.
        item: None for a record that never becomes one.
        is_new: the id of the item was issued here and is not stored yet.
        todos: Runs that are still to be done; empty when all ended at an earlier delivery.
        faults: why the record cannot be an Item.
        left_out: its Source wants it read and left alone: it is accepted, and nothing is written.
        source_revision: which revision of the Source's definition mapped it, 0 for automatic mapping.
        failure: why no Run could be started.
    """

    connection: int
    frame_id: int
    delivery: Delivery
    generator: Generator
    origin: Origin
    received_at_us: int
    item: Item | None = None
    is_new: bool = False
    todos: tuple[Todo, ...] = ()
    done: list[RunDone] = []
    faults: Violations | None = None
    left_out: LeftOut | None = None
    source_revision: int = 0
    failure: Diagnosis | None = None

    def diagnose(self) -> Diagnosis | None:
        """Return what failed, naming only the plans that did; None when all is well."""
        if self.failure is not None:
            return self.failure
        for done in self.done:
            if done.ended.status == "failed":
                return self._diagnose_runs()
        return None

    def _diagnose_runs(self) -> Diagnosis:
        failed = [done for done in self.done if done.ended.status == "failed"]
        first = failed[0].ended
        return Diagnosis(
            error_class=first.error_class,
            error_text=cut_error_text("; ".join(done.ended.error for done in failed)),
            plans=tuple(done.todo.plan for done in failed),
            task=first.failed_task,
        )
