"""Counting traffic reads a few rows, whatever a store holds."""

import apsw
import pytest

from gristmill.adapters.sqlite.file.schema import TABLES
from gristmill.adapters.sqlite.front import traffic


@pytest.mark.parametrize("name", ["ENDS_OF_LOG", "TIME_OF_RECORD", "ENDS_OF_RUNS", "BODY_OF_RUN"])
def test_no_question_goes_through_a_table(name: str) -> None:
    db = apsw.Connection(":memory:")
    db.execute(TABLES)
    sql = getattr(traffic, name)
    steps = [str(row[3]) for row in db.execute(f"EXPLAIN QUERY PLAN {sql}", (1,) if "?" in sql else ())]
    assert [step for step in steps if step.startswith("SCAN") and "CONSTANT" not in step] == [], steps
    db.close()
