"""What is known of a Run once it has ended, and why each of its Tasks did what it did."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from gristmill.domain.ids import ItemId, RunId

__all__ = ["Effect", "Event", "RunStatus", "TaskReport", "TaskStatus"]

RunStatus = Literal["done", "skipped", "rejected", "failed"]
"""`skipped` is a success whose first tasks said that the plan does not apply; `rejected` is an `End`."""

TaskStatus = Literal["done", "skipped", "failed", "bypassed", "not_started"]
"""`bypassed`: it failed and was declared `skip` or `fail_open`; `not_started`: the Run was over before its turn."""


class TaskReport(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """One Task of one Run.

    Attributes:
        started_after_us: from the start of the Run to the start of the first attempt.
        duration_us: wall time of all attempts together, waits between them included.
    """

    task: str
    status: TaskStatus
    attempts: int = 0
    started_after_us: int = 0
    duration_us: int = 0
    reason: str = ""


class Event(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """An appended fact about an Item or Run.

    Attributes:
        kind: dotted name such as `item.ingested`, `label.applied`, `run.ended`.
        at_ms: UTC epoch.
        body: encodable details; no personal data beyond ids.
    """

    kind: str
    item_id: ItemId
    run_id: RunId
    at_ms: int
    body: Any = None


class Effect(msgspec.Struct, frozen=True, gc=False):
    """Something a plan wants done outside its own cells, applied at most once per key.

    The key is (run id, task, sink). `mode` is `on` (to be carried out) or `shadow` (recorded for comparison only).
    """

    sink: str
    action: str
    subject: str
    payload: Any = None
    task: str = ""
    mode: Literal["on", "shadow"] = "shadow"
