"""Truth and predictions, from files."""

from pathlib import Path

import pytest

from gristmill.domain.errors import UsageError
from gristmill.intake.fields import FieldMap
from gristmill.runtime.evaluation.sources import read_labelled, read_output


def truth_of(tmp_path: Path, *values: str) -> list[bool]:
    path = tmp_path / "truth.jsonl"
    lines = [f'{{"id": {n}, "text": "t", "spam": {value}}}' for n, value in enumerate(values)]
    path.write_text("\n".join(lines), encoding="utf-8")
    found = read_labelled(path, label="spam", expect="spam", fields=FieldMap(), blobs=tmp_path)
    return [each.is_true for each in found]


def test_truth_is_written_in_many_ways(tmp_path: Path) -> None:
    assert truth_of(tmp_path, "true", "1", '"yes"', '"spam"', '"SPAM"', "1.0") == [True] * 6
    assert truth_of(tmp_path, "false", "0", '"no"', '"ham"', '"news"', '""') == [False] * 6
    assert truth_of(tmp_path, "null", "true") == [True]


def test_truth_that_says_neither_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="truth in field 'spam'"):
        truth_of(tmp_path, "7")
    with pytest.raises(UsageError, match="has the field: 'spam'"):
        truth_of(tmp_path, "null")


def test_a_score_below_its_threshold_is_found_where_a_cell_keeps_it(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    path.write_text(
        '{"id":"a","labels":[{"val":"spam","score":0.9}],"fields":{}}\n'
        '{"id":"b","labels":[],"fields":{"screen":{"scores":[{"val":"spam","score":0.3},{"val":"x","score":1}]},"n":1}}\n'
        '{"id":"c","labels":[{"val":"x","score":1.0}]}\n',
        encoding="utf-8",
    )
    found = read_output(path, "spam")
    assert found.given == {"a": True, "b": False, "c": False}
    assert found.scores == {"a": 0.9, "b": 0.3, "c": 0.0}
