"""What people say about labels. Facts are appended and never taken back; the last one about a label counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from gristmill.domain.ids import ItemId
from gristmill.domain.item import AppliedLabel, check_label

__all__ = ["ITEM_WITHOUT_FACTS", "LabelFact", "StandingLabel", "decide_standing"]

PERSON = "person"
ITEM_WITHOUT_FACTS = 0
"""Stands for the newest fact of an item that has none."""


class LabelFact(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody applied a label to an item, or negated it.

    Attributes:
        fact_id: given by the store, rising; 0 before that.
        is_negated: the label does not hold, whatever gave it.
        actor: who said so.
        reason: why, for a person.

    Raises:
        UsageError: not a label.
    """

    item_id: ItemId
    val: str
    is_negated: bool
    actor: str
    reason: str
    at_ms: int
    score: float = 1.0
    fact_id: int = 0

    def __post_init__(self) -> None:
        check_label(self.val, self.score)


class StandingLabel(msgspec.Struct, frozen=True):
    """A label of an item as it stands.

    Attributes:
        label: as it was applied; by a person where no plan has given it.
        fact: the last word of a person about it, if there is one. When that negates it, the label does not hold.
    """

    label: AppliedLabel
    fact: LabelFact | None = None

    @property
    def holds(self) -> bool:
        return self.fact is None or not self.fact.is_negated


def decide_standing(given: Iterable[AppliedLabel], facts: Sequence[LabelFact]) -> list[StandingLabel]:
    """Return every label that was given by plans or by people, by name; facts come oldest first.

    What a person said outlasts later runs: a plan that gives a negated label again changes nothing.
    """
    last = {fact.val: fact for fact in facts}
    standing = [StandingLabel(label, last.get(label.val)) for label in given]
    known = {one.label.val for one in standing}
    standing += [StandingLabel(_label_of(fact), fact) for val, fact in last.items() if val not in known]
    return sorted(standing, key=lambda one: (one.label.val, one.label.task))


def _label_of(fact: LabelFact) -> AppliedLabel:
    return AppliedLabel(fact.val, fact.score, fact.reason, (), task=PERSON, operator=PERSON, revision=fact.actor)
