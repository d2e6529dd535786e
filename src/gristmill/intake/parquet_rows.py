"""Rows of a Parquet file as JSON objects, read by DuckDB, which the extra `parquet` brings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gristmill.domain.errors import DataError, UsageError

__all__ = ["PARQUET_MAGIC", "read_columns", "read_parquet"]

PARQUET_MAGIC = b"PAR1"
ROWS_PER_FETCH = 1_000
ROWS = "SELECT CAST(to_json(row) AS VARCHAR) FROM read_parquet(?) AS row"
COLUMNS = "SELECT column_name FROM (DESCRIBE SELECT * FROM read_parquet(?))"


def read_columns(path: Path) -> list[str]:
    """Return the names of the columns.

    Raises:
        UsageError: it is no Parquet file, or the extra is missing; that is named.
    """
    duckdb, connection = _connect()
    try:
        return [name for (name,) in connection.execute(COLUMNS, [str(path)]).fetchall()]
    except duckdb.Error as error:
        raise UsageError("input file is no readable Parquet", value=str(path), advice=_first_line(error)) from error
    finally:
        connection.close()


def read_parquet(path: Path) -> Iterator[bytes]:
    """Yield every row as a JSON object, in the order of the file. Times are texts, bytes are hexadecimal.

    Raises:
        DataError: the file is damaged.
    """
    duckdb, connection = _connect()
    try:
        cursor = connection.execute(ROWS, [str(path)])
        while rows := cursor.fetchmany(ROWS_PER_FETCH):
            for (row,) in rows:
                yield row.encode("utf-8")
    except duckdb.Error as error:
        raise DataError("Parquet file is damaged", value=str(path), advice=_first_line(error)) from error
    finally:
        connection.close()


def _connect() -> tuple[Any, Any]:
    try:
        import duckdb
    except ImportError as error:
        advice = "install the extra that reads it: pip install 'gristmill[parquet]'"
        raise UsageError("Parquet cannot be read here", advice=advice) from error
    # One thread: the process that reads a file also feeds engines. Nothing is ever fetched from outside.
    config: dict[str, Any] = {
        "threads": 1,
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
    }
    return duckdb, duckdb.connect(":memory:", config=config)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0]
