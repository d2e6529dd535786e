"""Runs, their tasks and events as the API shows them."""

from __future__ import annotations

from typing import Any

import msgspec

from gristmill.api.views.labels import LabelView, view_label
from gristmill.domain.commit import StoredRun
from gristmill.domain.front.label_fact import StandingLabel
from gristmill.domain.front.standing import fields_of
from gristmill.domain.front.times import write_time
from gristmill.domain.run import Event, RunStatus, TaskReport, TaskStatus

__all__ = [
    "EventView",
    "RunView",
    "TaskView",
    "view_event",
    "view_run",
    "view_task",
]


class TaskView(msgspec.Struct, frozen=True):
    """Why a task did what it did, and how long it took."""

    task: str
    status: TaskStatus
    attempts: int
    started_after_us: int
    duration_us: int
    reason: str


class RunView(msgspec.Struct, frozen=True, kw_only=True):
    """One run of one plan over the item."""

    run_id: str
    plan: str
    plan_version: int
    generator: str
    position: int
    status: RunStatus
    reason: str
    error: str
    attempt: int
    started_at: str
    ended_at: str
    tasks: tuple[TaskView, ...]
    labels: tuple[LabelView, ...]
    fields: dict[str, Any]


class EventView(msgspec.Struct, frozen=True):
    """An appended fact about the item."""

    kind: str
    at: str
    run_id: str
    body: Any


def view_run(run: StoredRun) -> RunView:
    """Return a run with all its tasks."""
    return RunView(
        run_id=run.run_id,
        plan=run.plan,
        plan_version=run.plan_version,
        generator=run.generator,
        position=run.position,
        status=run.status,
        reason=run.reason,
        error=run.error,
        attempt=run.attempt,
        started_at=write_time(run.started_at_ms),
        ended_at=write_time(run.ended_at_ms),
        tasks=tuple([view_task(task) for task in run.tasks]),
        labels=tuple([view_label(StandingLabel(label)) for label in run.labels]),
        fields=fields_of([run]),
    )


def view_task(task: TaskReport) -> TaskView:
    """Return a task of a run."""
    return TaskView(task.task, task.status, task.attempts, task.started_after_us, task.duration_us, task.reason)


def view_event(event: Event) -> EventView:
    """Return an event."""
    return EventView(event.kind, write_time(event.at_ms), event.run_id, event.body)
