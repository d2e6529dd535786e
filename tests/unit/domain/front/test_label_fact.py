"""The last word of a person about a label counts, and outlasts what plans say."""

import pytest

from gristmill.domain.errors import UsageError
from gristmill.domain.front.label_fact import LabelFact, decide_standing
from gristmill.domain.ids import ItemId
from gristmill.domain.item import AppliedLabel


def given(val: str) -> AppliedLabel:
    return AppliedLabel(val, 0.9, "links", (), "rules", "screening", "1")


def fact(val: str, *, is_negated: bool) -> LabelFact:
    return LabelFact(item_id=ItemId(1), val=val, is_negated=is_negated, actor="ann", reason="why", at_ms=5)


def test_a_negated_label_does_not_hold_whatever_gave_it() -> None:
    [standing] = decide_standing([given("spam")], [fact("spam", is_negated=True)])
    assert (standing.label, standing.holds) == (given("spam"), False)


def test_the_last_word_counts() -> None:
    facts = [fact("spam", is_negated=True), fact("spam", is_negated=False)]
    [standing] = decide_standing([given("spam")], facts)
    assert standing.holds


def test_a_label_that_only_a_person_gave_is_hers() -> None:
    [hateful, spam] = decide_standing([given("spam")], [fact("hateful", is_negated=False)])
    assert spam.fact is None
    assert (hateful.label.task, hateful.label.revision, hateful.holds) == ("person", "ann", True)


def test_what_is_no_label_cannot_be_a_fact() -> None:
    with pytest.raises(UsageError):
        fact("!hide", is_negated=False)
