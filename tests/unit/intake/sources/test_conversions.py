"""Conversions, one by one."""

from __future__ import annotations

from typing import Any

import pytest

from gristmill.intake.sources.conversions import chain
from gristmill.intake.sources.definition import ConversionStep


def convert(name: str, value: Any, argument: str | None = None) -> Any:
    (step,) = chain([ConversionStep(name, argument)])
    return step(value)


@pytest.mark.parametrize(
    ("name", "value", "then"),
    [
        ("text", 5, "5"),
        ("text", True, "true"),
        ("text", "a", "a"),
        ("strip", " a ", "a"),
        ("collapse", " a \n b ", "a b"),
        ("lower", "Ä", "ä"),
        ("nfc", "e\u0301", "\u00e9"),
        ("nfkc", "\ufb01", "fi"),
        ("int", " 12 ", 12),
        ("int", 3.0, 3),
        ("float", "1.5", 1.5),
        ("float", 2, 2.0),
        ("bool", "Yes", True),
        ("bool", 0, False),
        ("bool", "off", False),
        ("rfc3339", "2024-01-31T09:30:00Z", 1_706_693_400_000),
        ("epoch_s", 1_706_693_400, 1_706_693_400_000),
        ("epoch_s", "1706693400.5", 1_706_693_400_500),
        ("epoch_ms", 1_706_693_400_000, 1_706_693_400_000),
        ("time", "Wed, 31 Jan 2024 09:30:00 GMT", 1_706_693_400_000),
        ("split", "a, b,,c", ["a", "b", "c"]),
        ("join", ["a", 1], "a 1"),
    ],
)
def test_a_value_that_fits_is_converted(name: str, value: Any, then: Any) -> None:
    assert convert(name, value) == then


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("text", []),
        ("strip", 5),
        ("int", "1.6"),
        ("int", 1.5),
        ("int", True),
        ("int", None),
        ("int", 2**63),
        ("int", "9" * 5_000),
        ("float", "nan"),
        ("float", 10**400),
        ("float", {}),
        ("float", True),
        ("bool", "maybe"),
        ("bool", 2),
        ("bool", []),
        ("rfc3339", "1706693400000"),
        ("rfc3339", 5),
        ("rfc3339", "not a time at all"),
        ("epoch_s", "soon"),
        ("epoch_s", 1e308),
        ("epoch_ms", []),
        ("time", {}),
        ("time", 1e300),
        ("split", 5),
        ("join", "a"),
        ("join", [[]]),
    ],
)
def test_a_value_that_does_not_fit_is_refused_in_words(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        convert(name, value)


def test_an_argument_replaces_the_default() -> None:
    assert convert("split", "a|b", "|") == ["a", "b"]
    assert convert("join", ["a", "b"], "-") == "a-b"
