"""What items share is contributed with keys; which labels follow is decided from all of it together."""

from typing import Any

import pytest

from gristmill.domain.contribution import KEYS_PER_JOIN_MAX, Contribution, Count, Join, Resolved, decide_labels
from gristmill.domain.errors import UsageError
from gristmill.domain.ids import ItemId

ME, OTHER = ItemId(2), ItemId(1)


def join(label: str = "duplicate", **given: Any) -> Join:
    return Join(
        **{"space": "exact", "keys": ("k",), "label": label, "reason": "same as {leader}, {size} alike", **given}
    )


def count(label: str = "flood", **given: Any) -> Count:
    filled = {"space": "links", "key": "k", "at_ms": 0, "window_ms": 60_000, "threshold": 3, "label": label}
    return Count(**{**filled, "reason": "{count} times {key}", **given})


def resolved(
    contribution: Contribution, leader: ItemId | None = OTHER, size: int = 3, input_id: str = "a1"
) -> Resolved:
    return Resolved(contribution, leader, input_id, size, "task", "operator", "1")


def vals(*entries: Resolved, given: frozenset[str] = frozenset()) -> list[str]:
    return [label.val for label in decide_labels(ME, entries, given=given)]


def test_a_member_is_labelled_with_its_leader_and_cause() -> None:
    (label,) = decide_labels(ME, [resolved(join())])
    assert (label.val, label.score, label.reason, label.evidence) == ("duplicate", 1.0, "same as a1, 3 alike", ("a1",))
    assert (label.task, label.operator, label.revision) == ("task", "operator", "1")


def test_the_leader_and_an_item_without_group_are_not() -> None:
    assert vals(resolved(join(), leader=ME)) == []
    assert vals(resolved(join(), leader=None)) == []


def test_a_count_applies_from_its_threshold_on() -> None:
    assert vals(resolved(count(), size=2)) == []
    (label,) = decide_labels(ME, [resolved(count(), size=3)])
    assert (label.val, label.score, label.reason, label.evidence) == ("flood", 0.9, "3 times k", ("k",))


def test_names_of_the_source_cannot_pose_as_placeholders() -> None:
    (label,) = decide_labels(ME, [resolved(join(), input_id="{size}")])
    assert label.reason == "same as {size}, 3 alike"
    (label,) = decide_labels(ME, [resolved(count(key="{count}"))])
    assert label.reason == "3 times {count}"


def test_a_label_yields_to_the_one_that_makes_it_redundant() -> None:
    exact, near = resolved(join()), resolved(join("near-duplicate", space="near", unless="duplicate"))
    assert vals(near, exact) == vals(exact, near) == ["duplicate"]
    assert vals(near, resolved(join(), leader=ME)) == ["near-duplicate"]
    assert vals(near, given=frozenset({"duplicate"})) == []


def test_a_chain_of_yielding_labels_is_decided_from_its_end() -> None:
    chain = [resolved(join("a")), resolved(join("b", unless="a")), resolved(join("c", unless="b"))]
    assert vals(*chain) == vals(*reversed(chain)) == ["a", "c"]


def test_labels_that_exclude_each_other_leave_the_first_by_name() -> None:
    circle = [resolved(join("b", unless="a")), resolved(join("a", unless="b"))]
    assert vals(*circle) == vals(*reversed(circle)) == ["a"]


def test_the_same_label_for_the_same_reason_is_given_once() -> None:
    assert vals(resolved(join()), resolved(join())) == ["duplicate"]
    assert vals(resolved(join()), resolved(join(), input_id="a2")) == ["duplicate", "duplicate"]


@pytest.mark.parametrize(
    ("make", "given", "said"),
    [
        (join, {"space": ""}, "space of a contribution is empty"),
        (join, {"keys": ()}, "keys of Join in space 'exact': () (give a tuple of 1 to 64 keys; an item without"),
        (join, {"keys": ("k", "")}, "keys of Join in space 'exact': ('k', '')"),
        (join, {"keys": "key"}, "keys of Join in space 'exact': 'key'"),
        (join, {"keys": ("k",) * (KEYS_PER_JOIN_MAX + 1)}, "keys of Join in space 'exact'"),
        (join, {"label": "Duplicate"}, "label: 'Duplicate'"),
        (join, {"score": 2.0}, "score of label 'duplicate': 2.0"),
        (count, {"space": ""}, "space of a contribution is empty"),
        (count, {"key": ""}, "Count in space 'links' has an empty key"),
        (count, {"window_ms": 0}, "window_ms, threshold of Count in space 'links': (0, 3) (at least 1)"),
        (count, {"threshold": 0}, "window_ms, threshold of Count in space 'links': (60000, 0)"),
        (count, {"label": "two words"}, "label: 'two words'"),
    ],
)
def test_a_contribution_of_nothing_sensible_is_refused(make: Any, given: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        make(**given)
    assert said in str(caught.value)
