"""Parquet files are read row by row, or refused in words."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import duckdb
import pytest

from gristmill.domain.errors import DataError, UsageError
from gristmill.intake.reader import LINE_HEADER, open_input


def write(path: Path, select: str) -> Path:
    duckdb.sql(f"COPY ({select}) TO '{path}' (FORMAT parquet)")
    return path


def read(path: Path, blobs: Path) -> list[dict[str, object]]:
    return [json.loads(record.value) for batch in open_input(path).read(blobs=blobs) for record in batch]


def test_rows_are_objects_in_the_order_of_the_file(tmp_path: Path) -> None:
    select = (
        "SELECT i AS id, 'text ' || i AS text, [i, i + 1] AS tags, {'a': i} AS inner, "
        "TIMESTAMP '2024-01-31 09:30:00' AS made, NULL AS nothing FROM range(2500) AS t(i)"
    )
    path = write(tmp_path / "posts.parquet", select)
    found = open_input(path)
    assert (found.shape, found.columns) == ("parquet", ("id", "text", "tags", "inner", "made", "nothing"))
    batches = list(found.read(blobs=tmp_path))
    assert [len(batch) for batch in batches] == [1_000, 1_000, 500]
    rows = [json.loads(record.value) for batch in batches for record in batch]
    assert [row["id"] for row in rows] == list(range(2_500))
    assert rows[3] == {
        "id": 3,
        "text": "text 3",
        "tags": [3, 4],
        "inner": {"a": 3},
        "made": "2024-01-31 09:30:00",
        "nothing": None,
    }
    assert batches[2][-1].headers[LINE_HEADER] == "2500"


def test_a_parquet_file_is_known_by_its_first_bytes_too(tmp_path: Path) -> None:
    path = write(tmp_path / "posts.parquet", "SELECT 1 AS id")
    assert read(path.rename(tmp_path / "posts.bin"), tmp_path) == [{"id": 1}]


def test_what_only_looks_like_parquet_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "posts.parquet"
    path.write_bytes(b"PAR1 and nothing that follows")
    with pytest.raises(UsageError, match="no readable Parquet"):
        open_input(path)


def test_a_file_damaged_in_the_middle_says_so(tmp_path: Path) -> None:
    path = write(tmp_path / "posts.parquet", "SELECT i AS id, md5(i::VARCHAR) AS text FROM range(5000) AS t(i)")
    found = open_input(path)
    content = bytearray(path.read_bytes())
    content[100:40_000] = b"\xff" * 39_900
    path.write_bytes(content)
    with pytest.raises(DataError, match="damaged"):
        list(found.read(blobs=tmp_path))


def test_without_the_extra_its_name_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "posts.parquet", "SELECT 1 AS id")
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(UsageError, match=r"gristmill\[parquet\]"):
        open_input(path)
