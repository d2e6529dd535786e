"""Items, runs and events as the API shows them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from gristmill.api.reading import Dossier, Standing, decide_status, latest_runs
from gristmill.api.reading.search import FoundItem
from gristmill.api.views.times import write_time
from gristmill.domain.commit import StoredRun
from gristmill.domain.front.label_fact import StandingLabel
from gristmill.domain.ids import ItemId
from gristmill.domain.input_key import InputKey
from gristmill.domain.item import Item, thaw
from gristmill.domain.run import Event, RunStatus, TaskReport, TaskStatus

__all__ = [
    "EventView",
    "ItemView",
    "LabelView",
    "RunView",
    "compute_etag",
    "view_found",
    "view_item",
    "view_label",
    "view_run",
    "view_unwritten",
]

ETAG_HEX = 24


class LabelView(msgspec.Struct, frozen=True, kw_only=True):
    """A label with its cause. `negated` when a person has said that it does not hold; `actor` and `said` are hers."""

    val: str
    score: float
    reason: str
    evidence: tuple[str, ...]
    task: str
    operator: str
    revision: str
    negated: bool
    actor: str | None = None
    said: str | None = None


class ItemView(msgspec.Struct, frozen=True, kw_only=True):
    """An item with what was found out about it; `pending` until its first run has ended.

    `fields` are what its plans have found, by name; `standard` are further fields of its kind that came with it.
    """

    item_id: str
    status: Standing
    tenant: str
    source: str
    input_id: str
    kind: str = ""
    revision: int = 0
    text: str = ""
    author: str | None = None
    created_at: str | None = None
    labels: tuple[LabelView, ...] = ()
    fields: dict[str, Any] = {}
    standard: dict[str, Any] = {}
    ext: dict[str, Any] = {}


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


def view_item(dossier: Dossier) -> ItemView:
    """Return an item whole."""
    return _view(dossier.item, decide_status(dossier.runs), dossier.labels, dossier.runs)


def view_found(found: FoundItem) -> ItemView:
    """Return an item of a list."""
    return _view(found.item, found.status, found.labels, found.runs)


def view_unwritten(item_id: ItemId, key: InputKey) -> ItemView:
    """Return what is known of an item that was published and not processed yet."""
    return ItemView(item_id=str(item_id), status="pending", tenant=key.tenant, source=key.source, input_id=key.input_id)


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
        fields=_fields([run]),
    )


def view_task(task: TaskReport) -> TaskView:
    """Return a task of a run."""
    return TaskView(task.task, task.status, task.attempts, task.started_after_us, task.duration_us, task.reason)


def view_event(event: Event) -> EventView:
    """Return an event."""
    return EventView(event.kind, write_time(event.at_ms), event.run_id, event.body)


def view_label(standing: StandingLabel) -> LabelView:
    """Return a label as it stands."""
    label, fact = standing.label, standing.fact
    return LabelView(
        val=label.val,
        score=label.score,
        reason=label.reason,
        evidence=label.evidence,
        task=label.task,
        operator=label.operator,
        revision=label.revision,
        negated=not standing.holds,
        actor=fact.actor if fact else None,
        said=fact.reason if fact else None,
    )


def compute_etag(dossier: Dossier) -> str:
    """Return a tag that changes with everything that an item view shows but labels shared with other items."""
    runs = [(run.run_id, run.ended_at_ms) for run in dossier.runs]
    facts = [fact.fact_id for fact in dossier.facts]
    digest = hashlib.sha256(msgspec.json.encode((dossier.item.revision, runs, facts))).hexdigest()
    return f'"{digest[:ETAG_HEX]}"'


def _view(item: Item, status: Standing, labels: Sequence[StandingLabel], runs: Sequence[StoredRun]) -> ItemView:
    return ItemView(
        item_id=str(item.item_id),
        status=status,
        tenant=item.tenant,
        source=item.source,
        input_id=item.input_id,
        kind=item.kind,
        revision=item.revision,
        text=item.text,
        author=item.author,
        created_at=None if item.created_at_ms is None else write_time(item.created_at_ms),
        labels=tuple([view_label(standing) for standing in labels]),
        fields=_fields(latest_runs(runs)),
        standard=thaw(item.fields),
        ext=thaw(item.ext),
    )


def _fields(runs: Sequence[StoredRun]) -> dict[str, Any]:
    """Return the cells of runs by field. What is told as labels and what is shared is left out, it stands elsewhere."""
    return {cell.field: _strip(cell.value) for run in runs for cell in run.cells}


def _strip(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    return {name: inner for name, inner in value.items() if name not in ("labels", "contributions", "effects")}
