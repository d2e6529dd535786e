"""Hands many rows to one statement: bound values for what is written, a JSON array for what is searched by.

One statement for a batch instead of one a row: the driver lets go of the interpreter lock at every statement, and a
busy event loop would keep it for its switch interval each time, with the turn held. A statement is prepared for a few
numbers of rows only, so that it is found prepared again; what is left over of its places is NULL and writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import apsw
import msgspec

__all__ = ["from_json", "to_json", "write_rows"]

SIZES = (1, 8, 32, 128)
"""Rows that a statement is prepared for. Each table then keeps at most four, of which the longest takes about 50 KB."""

STATEMENTS_MAX = 256

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(list[Any])


def write_rows(db: apsw.Connection, sql: str, values: list[Any], *, width: int, constants: tuple[Any, ...] = ()) -> int:
    """Run a statement over many rows, SIZES[-1] at a time, and return how many rows it changed.

    Args:
        sql: takes the rows from `{rows}`, with columns `column1` to `column<width>`. `column1` is never NULL in a row.
        values: the rows laid end to end.
        constants: what `?1`, `?2` ... of the statement stand for, the same for all rows.
    """
    changed = 0
    most = SIZES[-1] * width
    for start in range(0, len(values), most):
        part = values[start : start + most] if len(values) > most else values
        count = len(part) // width
        size = next(size for size in SIZES if size >= count)
        empty = (None,) * ((size - count) * width)
        db.execute(_prepare(sql, width, size, len(constants)), [*constants, *part, *empty])
        changed += db.changes()
    return changed


@lru_cache(maxsize=STATEMENTS_MAX)
def _prepare(sql: str, width: int, size: int, constant_count: int) -> str:
    first = [f"?{constant_count + column}" for column in range(1, width + 1)]
    row = f"({','.join('?' * width)})"
    rows = ",".join([f"({','.join(first)})", *[row] * (size - 1)])
    return sql.format(rows=f"(SELECT * FROM (VALUES {rows}) WHERE column1 IS NOT NULL)")


def to_json(rows: Iterable[Any]) -> str:
    """Return rows for `jsonb_each`, or plain values for `json_each`."""
    return _encoder.encode(rows if isinstance(rows, list) else list(rows)).decode()


def from_json(text: str) -> list[Any]:
    """Read what `json_group_array` returned."""
    return _decoder.decode(text)
