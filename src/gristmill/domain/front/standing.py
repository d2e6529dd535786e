"""How an item stands: its newest run of each plan, the labels that hold, the fields that were found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from gristmill.domain.commit import StoredRun
from gristmill.domain.front.label_fact import LabelFact, StandingLabel, decide_standing
from gristmill.domain.item import AppliedLabel

__all__ = [
    "WORST_FIRST",
    "Standing",
    "decide_status",
    "fields_of",
    "given_labels",
    "latest_runs",
    "stand",
    "strip_findings",
]

Standing = Literal["pending", "done", "skipped", "rejected", "failed"]
"""Where an item stands: the worst of the newest run of each plan; `pending` before the first has ended."""

WORST_FIRST: tuple[Standing, ...] = ("failed", "rejected", "done", "skipped")

NOT_A_FIELD = ("labels", "contributions", "effects")


def stand(
    runs: Sequence[StoredRun], shared_labels: Sequence[AppliedLabel], facts: Sequence[LabelFact]
) -> list[StandingLabel]:
    """Return the labels of an item as they stand."""
    return decide_standing([*given_labels(runs), *shared_labels], facts)


def given_labels(runs: Sequence[StoredRun]) -> list[AppliedLabel]:
    """Return the labels that the newest run of each plan has given."""
    return [label for run in latest_runs(runs) for label in run.labels]


def latest_runs(runs: Sequence[StoredRun]) -> list[StoredRun]:
    """Return the newest run of each plan."""
    return list({run.plan: run for run in runs}.values())


def decide_status(runs: Sequence[StoredRun]) -> Standing:
    """Return where an item with these runs stands."""
    statuses = {run.status for run in latest_runs(runs)}
    return next((status for status in WORST_FIRST if status in statuses), "pending")


def fields_of(runs: Sequence[StoredRun]) -> dict[str, Any]:
    """Return the cells of runs by field."""
    return {cell.field: strip_findings(cell.value) for run in runs for cell in run.cells}


def strip_findings(value: Any) -> Any:
    """Return the value of a field without the labels, contributions and effects that are told in their own place."""
    if not isinstance(value, Mapping):
        return value
    return {name: inner for name, inner in value.items() if name not in NOT_A_FIELD}
