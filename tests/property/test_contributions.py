"""The labels of an item do not depend on the order in which its contributions are read."""

from hypothesis import given
from hypothesis import strategies as st

from gristmill.domain.contribution import Count, Join, Resolved, decide_labels
from gristmill.domain.ids import ItemId

ME = ItemId(1)
names = st.sampled_from(["a", "b", "c", "d"])
unless = st.sampled_from(["", "", "a", "b", "c", "d"])
joins = st.builds(
    Join, space=st.just("s"), keys=st.just(("k",)), label=names, reason=st.just("{leader}"), unless=unless
)
counts = st.builds(
    Count,
    space=st.just("s"),
    key=names,
    at_ms=st.just(0),
    window_ms=st.just(1),
    threshold=st.integers(1, 3),
    label=names,
    reason=st.just("{count} of {key}"),
    unless=unless,
)
resolutions = st.builds(
    Resolved,
    contribution=joins | counts,
    leader=st.sampled_from([None, ME, ItemId(2)]),
    leader_input_id=names,
    size=st.integers(1, 4),
    task=names,
    operator=names,
    revision=st.just("1"),
)
labels = st.frozensets(names, max_size=2)


@given(st.data(), st.lists(resolutions, max_size=7), labels)
def test_any_order_gives_the_same_labels(data: st.DataObject, entries: list[Resolved], given: frozenset[str]) -> None:
    shuffled = data.draw(st.permutations(entries))
    assert decide_labels(ME, shuffled, given=given) == decide_labels(ME, entries, given=given)


@given(st.lists(resolutions, max_size=7), labels)
def test_a_label_without_condition_always_stands(entries: list[Resolved], given: frozenset[str]) -> None:
    found = {label.val for label in decide_labels(ME, entries, given=given)}
    for entry in entries:
        contribution = entry.contribution
        applies = (
            entry.leader not in (None, ME) if isinstance(contribution, Join) else entry.size >= contribution.threshold
        )
        if applies and not contribution.unless:
            assert contribution.label in found
        if applies and contribution.unless in given and contribution.label not in given:
            others = [other for other in entries if other.contribution.label == contribution.label]
            assert contribution.label not in found or len(others) > 1
