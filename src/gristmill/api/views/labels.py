"""Labels as the API shows them."""

from __future__ import annotations

import msgspec

from gristmill.domain.front.label_fact import StandingLabel

__all__ = ["LabelView", "view_label"]


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
