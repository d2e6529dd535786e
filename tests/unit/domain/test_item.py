"""Items are immutable down to the last list; labels are short names with a score."""

from typing import Any

import msgspec
import pytest

from gristmill.domain.errors import DataError, UsageError
from gristmill.domain.ids import ItemId
from gristmill.domain.item import NESTING_MAX, Item, Label, freeze, thaw

PLAIN = {"a": [1, {"b": [2.5, None, True]}], "c": "text"}


def nested(levels: int) -> Any:
    value: Any = "leaf"
    for _ in range(levels):
        value = [value]
    return value


def test_frozen_data_cannot_be_changed_anywhere() -> None:
    frozen = freeze(PLAIN)
    assert frozen["a"][1]["b"] == (2.5, None, True)
    with pytest.raises(TypeError):
        frozen["d"] = 1
    with pytest.raises(TypeError):
        frozen["a"][1]["b"] = ()


def test_freezing_copies_and_thawing_gives_plain_data_back() -> None:
    original = {"a": [1]}
    frozen = freeze(original)
    original["a"].append(2)
    assert thaw(frozen) == {"a": [1]}
    assert msgspec.json.decode(msgspec.json.encode(thaw(freeze(PLAIN)))) == PLAIN


def test_a_bomb_of_brackets_is_bad_data_and_not_a_crash() -> None:
    assert thaw(freeze(nested(NESTING_MAX))) == nested(NESTING_MAX)
    for levels in (NESTING_MAX + 1, 900):
        with pytest.raises(DataError, match="nested too deeply"):
            freeze(nested(levels))


def test_an_item_needs_nothing_but_its_id() -> None:
    item = Item(ItemId(2024_01_01 * 10**11))
    assert (item.kind, item.text, item.author, dict(item.ext)) == ("post", "", None, {})
    with pytest.raises(AttributeError):
        item.text = "other"  # type: ignore[misc]


@pytest.mark.parametrize("val", ["a", "spam", "near-duplicate", "l" * 128])
def test_a_label_is_a_short_name(val: str) -> None:
    assert Label(val, 0.0, "why").val == val


@pytest.mark.parametrize("val", ["", "Spam", "two words", "a_b", "-a", "a-", "v2", "l" * 129, "spam\n", "säge"])
def test_other_names_are_no_labels(val: str) -> None:
    with pytest.raises(UsageError, match="label"):
        Label(val, 1.0, "why")


@pytest.mark.parametrize("score", [-0.01, 1.01, float("nan"), float("inf")])
def test_a_score_lies_between_unsure_and_sure(score: float) -> None:
    with pytest.raises(UsageError, match="score of label 'spam'"):
        Label("spam", score, "why")
