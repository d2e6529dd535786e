"""A condition that is translated to Python says what the engine says, and what is not understood is left to it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.operators.rules.ruleset import Conditions
from gristmill.plans.definitions.expression import BadExpression, compile_expression
from gristmill.plans.definitions.plain import build_all, translate

TYPES: dict[str, type] = {"yes": bool, "no": bool, "few": int, "many": int, "share": float, "score": float, "code": str}
VALUES = st.fixed_dictionaries(
    {
        "yes": st.booleans(),
        "no": st.booleans(),
        "few": st.integers(-3, 3),
        "many": st.integers(-100, 100),
        "share": st.sampled_from([0.0, -0.5, 0.3, 0.1, 0.2, 1.0]),
        "score": st.sampled_from([0.0, -0.0, 0.3, 0.6, 1.0]),
        "code": st.sampled_from(["en", "de", "", "e"]),
    }
)
SUMS = {
    int: st.sampled_from(["few", "many", "few + many", "many - 2", "7", "-3", "few - many + 1"]),
    float: st.sampled_from(["share", "score", "share + score", "0.3", "-0.4", "share - 0.1"]),
    str: st.sampled_from(["code", "'en'", '"de"']),
}


@st.composite
def comparisons(draw: st.DrawFn) -> str:
    sums = SUMS[draw(st.sampled_from([int, float, str]))]
    return f"{draw(sums)} {draw(st.sampled_from(['<', '<=', '>', '>=', '==', '!=']))} {draw(sums)}"


CONDITIONS = st.recursive(
    st.one_of(st.sampled_from(["yes", "no", "!yes", "yes == no", "!(yes)"]), comparisons()),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from([" && ", " || ", "&&", "||"]), inner).map("".join),
        inner.map(lambda one: f"({one})"),
        inner.map(lambda one: f"!({one})"),
    ),
    max_leaves=8,
)


@settings(deadline=None)
@given(CONDITIONS, VALUES)
def test_a_translated_condition_says_what_the_engine_says(source: str, values: dict[str, Any]) -> None:
    condition = translate(source, TYPES)
    assert condition is not None
    assert build_all([condition])(values) == [compile_expression(source).evaluate(values)]
    assert condition.names == compile_expression(source).names


@settings(deadline=None)
@given(st.text("yesnofw shaz()!&|<>=+-0123.'\"[]?:,", max_size=20), VALUES)
def test_whatever_is_translated_at_all_means_the_same(source: str, values: dict[str, Any]) -> None:
    condition = translate(source, TYPES)
    if condition is None:
        return
    try:
        expression = compile_expression(source)
    except BadExpression:
        pytest.fail(f"{source!r} is no expression, yet it was translated")
    assert build_all([condition])(values) == [expression.evaluate(values)]


@pytest.mark.parametrize(
    "source",
    [
        "few",
        "few + share > 1.0",
        "few < 1.5",
        "few < many < 3",
        "code in ['en']",
        "yes ? no : yes",
        "size(code) > 1",
        "code.startsWith('e')",
        "few * 2 > 3",
        "unknown",
        "true",
        "-few > 1",
        "yes < no",
        "yes && few",
        "code + 'x' == 'enx'",
        "'a\\n' == code",
        "few > 0x10",
        "few > 3u",
        "(yes",
        "yes)",
        "!few > 1",
        "",
    ],
)
def test_what_is_not_plain_is_left_to_the_engine(source: str) -> None:
    assert translate(source, TYPES) is None


def test_conditions_of_both_kinds_keep_their_order() -> None:
    sources = ["yes", "size(code) == 2", "few > 1", "code in ['de', 'en']", "no"]
    values = {"yes": True, "no": False, "few": 2, "many": 0, "share": 0.0, "score": 0.0, "code": "en"}
    both = Conditions(sources, TYPES)
    assert both.evaluate(values) == [True, True, True, True, False]
    assert both.names == {"yes", "no", "few", "code"}
    assert Conditions(sources, {}).evaluate(values) == [True, True, True, True, False]
    assert Conditions(["yes", "no"], TYPES).evaluate(values) == [True, False]
    with pytest.raises(ValueError, match=r"list|int|size"):
        both.evaluate({**values, "code": 3})
