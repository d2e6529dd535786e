"""Counting what was found against what is true."""

import pytest

from gristmill.runtime.evaluation.measures_core import compare, measure, sweep

TRUTH = {"a": True, "b": True, "c": False, "d": False}


def test_precision_recall_and_f1_follow_from_the_counts() -> None:
    found = measure(TRUTH, {"a": True, "c": True, "d": False})
    assert (found.true_positives, found.false_positives, found.false_negatives, found.true_negatives) == (1, 1, 1, 1)
    assert (found.precision, found.recall, found.f1) == (0.5, 0.5, 0.5)


def test_nothing_found_is_zero_and_no_error() -> None:
    found = measure(TRUTH, {})
    assert (found.precision, found.recall, found.f1) == (0.0, 0.0, 0.0)


def test_a_sweep_counts_scores_from_the_threshold_on() -> None:
    rows = {round(row.threshold, 2): row.measure for row in sweep(TRUTH, {"a": 0.9, "b": 0.5, "c": 0.5, "d": 0.0})}
    assert rows[0.5].recall == 1.0
    assert rows[0.55].precision == 1.0
    assert rows[0.95].recall == 0.0
    assert rows[0.05].precision == pytest.approx(2 / 3)


def test_two_predictions_differ_where_one_is_right_and_the_other_is_not() -> None:
    found = compare(TRUTH, {"a": True, "c": True}, {"b": True})
    assert (found.agree, found.better, found.worse) == (1, ("a",), ("b", "c"))
