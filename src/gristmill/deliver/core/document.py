"""An item as subscribers see it: one document for conditions, one flat row of columns to choose from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gristmill.domain.contribution import decide_labels
from gristmill.domain.front.label_fact import StandingLabel
from gristmill.domain.front.standing import decide_status, fields_of, latest_runs, stand
from gristmill.domain.front.times import is_calendar_time, write_time
from gristmill.domain.item import thaw
from gristmill.ports.delivery import KnownItem

__all__ = ["GROUPS", "NAMES", "compute_columns", "compute_document"]

NAMES = (
    "item_id",
    "tenant",
    "source",
    "input_id",
    "kind",
    "revision",
    "status",
    "text",
    "author",
    "created_at",
    "labels",
    "fields",
    "standard",
    "ext",
)
"""What a condition may name after `item.`; the same words as in the API."""

ENVELOPE = frozenset({"item_id", "tenant", "revision"})
"""Told with every message, so they are no columns."""

GROUPS = frozenset({"labels", "fields", "standard", "ext"})


def compute_document(known: KnownItem) -> dict[str, Any]:
    """Return an item with the labels that hold; what it does not have is left out."""
    item, runs = known.item, latest_runs(known.runs)
    created_at_ms = item.created_at_ms
    has_time = created_at_ms is not None and is_calendar_time(created_at_ms)
    given = frozenset(label.val for run in runs for label in run.labels)
    labels = stand(known.runs, decide_labels(item.item_id, known.shared, given=given), known.facts)
    document = {
        "item_id": str(item.item_id),
        "tenant": item.tenant,
        "source": item.source,
        "input_id": item.input_id,
        "kind": item.kind,
        "revision": item.revision,
        "status": decide_status(known.runs),
        "text": item.text,
        "author": item.author,
        "created_at": write_time(created_at_ms or 0) if has_time else None,
        "labels": _holding(labels),
        "fields": fields_of(runs),
        "standard": thaw(item.fields),
        "ext": thaw(item.ext),
    }
    return {name: value for name, value in document.items() if value is not None}


def compute_columns(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of a document: `text`, `labels.spam`, `fields.language`, `ext.main.heat`."""
    columns: dict[str, Any] = {}
    for name, value in document.items():
        if name in GROUPS:
            columns.update(_spread(name, value))
        elif name not in ENVELOPE:
            columns[name] = value
    return columns


def _spread(group: str, values: Mapping[str, Any]) -> dict[str, Any]:
    columns: dict[str, Any] = {}
    for name, value in values.items():
        # Fields of a tenant lie under its name.
        if group == "ext" and isinstance(value, Mapping):
            columns.update({f"ext.{name}.{inner}": found for inner, found in value.items()})
        else:
            columns[f"{group}.{name}"] = value
    return columns


def _holding(labels: list[StandingLabel]) -> dict[str, Any]:
    """Return the labels that hold by name; of several findings of one, the surest."""
    found: dict[str, Any] = {}
    for standing in sorted(labels, key=lambda one: -one.label.score):
        label = standing.label
        if standing.holds and label.val not in found:
            found[label.val] = {
                "score": label.score,
                "reason": label.reason,
                "evidence": list(label.evidence),
                "task": label.task,
                "operator": label.operator,
                "revision": label.revision,
            }
    return {val: found[val] for val in sorted(found)}
