"""A result is frozen all the way down, can be read back, and says how long it is kept."""

import enum
from collections.abc import Callable, Sequence
from typing import Any, Literal, NewType

import msgspec
import pytest
from msgspec import Struct

from gristmill import Count, Effect, Item, Join, Label, cell, kept, transient
from gristmill.domain.errors import UsageError
from gristmill.domain.ids import ItemId
from gristmill.plans.results import ResultMark, mark_of, show_type

Score = NewType("Score", float)
Tags = NewType("Tags", list[str])


class Colour(enum.Enum):
    RED = "red"


class Part(Struct, frozen=True):
    score: Score
    colour: Colour = Colour.RED
    below: "tuple[Part, ...]" = ()


class Loose(Struct):
    n: int = 0


class HoldsList(Struct, frozen=True):
    names: list[str]


class HoldsHoldsList(Struct, frozen=True):
    part: tuple[HoldsList, ...]


class HoldsLoose(Struct, frozen=True):
    part: Loose | None


class HoldsItem(Struct, frozen=True):
    item: Item


class HoldsTags(Struct, frozen=True):
    tags: Tags


class BareTuple(Struct, frozen=True):
    pair: tuple  # type: ignore[type-arg]


class HoldsFunction(Struct, frozen=True):
    rule: Callable[[], int]


class TextLabels(Struct, frozen=True):
    labels: tuple[str, ...]


class ListLabels(Struct, frozen=True):
    labels: Label


class WrongContributions(Struct, frozen=True):
    contributions: tuple[Join | str, ...]


class WrongEffects(Struct, frozen=True):
    effects: tuple[Label, ...]


class First(Struct, frozen=True):
    n: int


class Second(Struct, frozen=True):
    n: int


class Undecodable(Struct, frozen=True):
    part: First | Second


class Unresolved(Struct, frozen=True):
    part: "Nowhere"  # type: ignore[name-defined]  # noqa: F821


@cell("everything.that_goes")
class Everything(Struct, frozen=True):
    part: Part
    labels: tuple[Label, ...] = ()
    contributions: tuple[Join | Count, ...] = ()
    effects: tuple[Effect, ...] = ()
    choice: Literal["a", "b"] = "a"
    names: frozenset[str] = frozenset()
    near: tuple[ItemId, float] | None = None
    rest: Any = None


@kept
class Joins(Struct, frozen=True):
    contributions: tuple[Join, ...] = ()


def test_a_mark_says_how_a_result_is_kept_and_what_the_commit_takes_over() -> None:
    assert mark_of(Everything) == ResultMark("cell", "everything.that_goes", True, True, True)
    assert mark_of(Joins) == ResultMark("kept", "", False, True, False)
    assert mark_of(Part) is None


def test_a_marked_result_goes_through_the_store_and_back() -> None:
    value = Everything(Part(Score(0.5), below=(Part(Score(1.0)),)), labels=(Label("spam", 1.0, "why"),))
    assert msgspec.json.decode(msgspec.json.encode(value), type=Everything) == value


def test_the_mark_of_a_parent_is_not_inherited() -> None:
    class Child(Everything, frozen=True):
        pass

    assert mark_of(Child) is None


@pytest.mark.parametrize("field", ["", "Topics", "two words", "a-b", "2x", "a..b", ".a", "ñ", "x" * 61, 3, Part])
def test_a_cell_has_a_plain_field_name(field: Any) -> None:
    with pytest.raises(UsageError, match="cell field name"):
        cell(field)


@pytest.mark.parametrize(
    ("result_type", "said"),
    [
        (Loose, "result type is mutable: 'Loose' (declare it with frozen=True)"),
        (Colour, "result type is not a msgspec.Struct: 'Colour' (class X(Struct, frozen=True))"),
        (3, "result type is not a msgspec.Struct: 3"),
        (Everything, "result type is marked twice: 'Everything' (choose one of @cell, @kept, @transient)"),
        (HoldsList, "field 'names' of result type HoldsList is not immutable data: 'list[str]' (use plain values"),
        (HoldsHoldsList, "field 'part' of result type HoldsHoldsList is not immutable data: 'tuple[HoldsList, ...]'"),
        (HoldsLoose, "field 'part' of result type HoldsLoose is not immutable data: 'Loose | None'"),
        (HoldsItem, "field 'item' of result type HoldsItem is not immutable data: 'Item'"),
        (HoldsTags, "field 'tags' of result type HoldsTags is not immutable data"),
        (BareTuple, "field 'pair' of result type BareTuple is not immutable data: 'tuple'"),
        (HoldsFunction, "field 'rule' of result type HoldsFunction is not immutable data"),
        (
            TextLabels,
            "field 'labels' of result type TextLabels is taken over by the commit: 'tuple[str, ...]' (annotate",
        ),
        (ListLabels, "annotate it as tuple[Label, ...], or give it another name"),
        (WrongContributions, "annotate it as tuple[Join | Count, ...]"),
        (WrongEffects, "annotate it as tuple[Effect, ...]"),
        (Undecodable, "result type Undecodable could not be read back from the store (If a type union"),
        (Unresolved, "a field of result type Unresolved cannot be resolved: \"name 'Nowhere' is not defined\" (import"),
    ],
)
def test_a_result_that_could_change_or_get_lost_is_refused(result_type: Any, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        transient(result_type)
    assert said in str(caught.value)


def test_a_result_type_stands_at_module_level() -> None:
    class Local(Struct, frozen=True):
        pass

    with pytest.raises(UsageError, match="result type inside a function"):
        kept(Local)


def test_types_are_shown_as_they_were_written() -> None:
    assert show_type(Part) == "Part"
    assert show_type(Part | None) == "Part | None"
    assert show_type(Sequence[Part]) == "Sequence[Part]"
