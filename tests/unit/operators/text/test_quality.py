"""Measures of form."""

import pytest

from gristmill.operators.text.normalise import normalise
from gristmill.operators.text.quality import Quality, measure_quality


def test_an_empty_text_measures_zero() -> None:
    assert measure_quality(normalise("")) == Quality()


def test_shares_are_of_visible_characters() -> None:
    found = measure_quality(normalise("ABcd 12 !!"))
    assert (found.letter_share, found.digit_share, found.symbol_share) == (0.5, 0.25, 0.25)
    assert found.caps_share == 0.5
    assert (found.length, found.word_count, found.distinct_share) == (10, 2, 1.0)


def test_runs_and_entropy_tell_monotony() -> None:
    assert measure_quality(normalise("noooooo")).run_length == 6
    assert measure_quality(normalise("a" * 50)).entropy == 0.0
    prose = measure_quality(normalise("The source is in the appendix, table 4 on page 112."))
    assert prose.entropy == pytest.approx(4.2, abs=0.4)
    assert prose.run_length == 0
