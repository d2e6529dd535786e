"""What a plan came to that was run for an answer."""

from __future__ import annotations

import msgspec

from gristmill.api.shapes.scoring import ScoreView
from gristmill.api.views.labels import view_label
from gristmill.api.views.runs import view_task
from gristmill.domain.front.label_fact import StandingLabel
from gristmill.domain.front.standing import strip_findings
from gristmill.engine.run.scope import Ended

__all__ = ["view_score"]


def view_score(plan: str, version: int, ended: Ended, *, duration_us: int, item_id: str | None = None) -> ScoreView:
    """Return how a run ended and what it found."""
    values = {cell.field: msgspec.to_builtins(cell.value) for cell in ended.cells}
    return ScoreView(
        plan=plan,
        plan_version=version,
        status=ended.status,
        reason=ended.reason,
        error=ended.error,
        labels=tuple([view_label(StandingLabel(label)) for label in ended.labels]),
        fields={field: strip_findings(value) for field, value in values.items()},
        tasks=tuple([view_task(task) for task in ended.tasks]),
        duration_us=duration_us,
        item_id=item_id,
    )
