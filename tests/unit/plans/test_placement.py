"""`use` places an operator: name, order, bindings and configuration, each checked where it is written."""

from typing import Any

import pytest

from gristmill import Item, task
from gristmill.domain.errors import UsageError
from tests.unit.plans import samples
from tests.unit.plans.samples import Language


class Here:
    pass


class Gone:
    pass


@task
def counts(
    item: Item,
    *,
    least: int,
    names: list[str] | None = None,
    share: float = 0.5,
    hook: Any = None,
    either: Gone | Here | None = None,
) -> None: ...


def undecorated(item: Item) -> None: ...


def place(**given: Any) -> Any:
    return counts.use(**{"least": 1, **given})


def test_configuration_is_checked_and_kept_with_its_defaults() -> None:
    assert place(least=3, share=1).config == {"least": 3, "names": None, "share": 1.0, "hook": None, "either": None}


def test_a_list_given_as_configuration_is_a_copy() -> None:
    names = ["a"]
    placement = place(names=names)
    names.append("b")
    assert placement.config["names"] == ["a"]


def test_values_that_annotations_do_not_describe_pass_through() -> None:
    marker = object()
    assert place(hook=marker).config["hook"] is marker
    here = Here()
    assert place(either=here).config["either"] is here


def test_anchors_may_be_operators_placements_and_names() -> None:
    first = samples.language.use(name="first")
    placement = place(after=[samples.gate, first, "other"], after_any=("third",), bind={"x": first})
    assert placement.after == (samples.gate, first, "other")
    assert (placement.after_any, placement.bind) == (("third",), {"x": first})


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"leest": 3}, "task 'counts' has no configuration: 'leest' (did you mean 'least'? known: either, hook"),
        ({"least": "three"}, "configuration 'least' of task 'counts': 'three' (Expected int, got str)"),
        ({"names": ["a", 3]}, "configuration 'names' of task 'counts': ['a', 3] (Expected str, got int - at $[1])"),
        ({"name": "two words"}, "name of a task of operator 'counts': 'two words'"),
        ({"after": "gate"}, "after of task 'counts': 'gate' (give a list: [...])"),
        ({"after": samples.gate}, "after of task 'counts': <task gate revision 1> (give a list: [...])"),
        ({"after": 3}, "after of task 'counts': 3 (give a list: [...])"),
        (
            {"after_any": [undecorated]},
            "after_any of task 'counts' is not a task: 'undecorated' (decorate it with @task)",
        ),
        ({"after": [Language]}, "give a task, what its use(...) gave, or a name"),
        ({"bind": [samples.gate]}, "give a dict: bind={'parameter': task}"),
        ({"bind": {"x": 3}}, "bind of task 'counts' is not a task: 3"),
        ({"absent": Language}, "give a list of result types: absent=[Topics]"),
        ({"absent": ["Language"]}, "absent of task 'counts': ['Language']"),
    ],
)
def test_a_placement_that_cannot_work_is_refused_with_a_way_out(given: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        place(**given)
    assert said in str(caught.value)


def test_required_configuration_is_asked_for() -> None:
    with pytest.raises(UsageError) as caught:
        counts.use()
    assert str(caught.value) == "task 'counts' needs a value for: 'least' (counts.use(least=...))"
