"""Rows of a CSV file as JSON objects, and what is kept of rows that are broken.

A quote that is never closed would swallow the rest of the file. So a row may span a bounded number of lines; where
that fails, or a row of several lines does not fit the header, only its first line is given up and reading
goes on with the second.
"""

from __future__ import annotations

import csv
from collections import deque
from collections.abc import Iterator, Sequence

import msgspec

from gristmill.domain.errors import UsageError
from gristmill.intake.lines import Line
from gristmill.ports.log import RECORD_BYTES_MAX

__all__ = ["CsvRow", "read_header", "read_rows"]

LINES_PER_ROW_MAX = 1_000
ROW_BYTES_MAX = 2 * 1024 * 1024
"""Bounds of one row: twice the largest text, and few enough lines that many open quotes stay cheap to recover from."""


class CsvRow(msgspec.Struct, frozen=True):
    """One row.

    Attributes:
        number: line that it starts on, from 1.
        value: the row as a JSON object, or its raw bytes where it is broken.
        fault: what is wrong with it, empty if nothing.
    """

    number: int
    value: bytes
    fault: str = ""


def read_header(lines: Iterator[Line], *, delimiter: str) -> list[str]:
    """Take the header row and return one distinct name a column.

    Raises:
        UsageError: there is none, or it cannot be read.
    """
    taken: list[Line] = []
    try:
        row = next(csv.reader(_feed(lines, deque(), taken), delimiter=delimiter, strict=True))
    except (StopIteration, csv.Error, _RowTooLong) as error:
        raise UsageError("CSV file has no readable header", value=str(error) or None, advice=HEADER_ADVICE) from error
    if not any(name.strip() for name in row):
        raise UsageError("CSV header is empty", advice=HEADER_ADVICE)
    names: list[str] = []
    for index, cell in enumerate(row, start=1):
        name = cell.encode("utf-8", "surrogateescape").decode("utf-8", "replace").strip() or f"column_{index}"
        names.append(name if name not in names else f"{name}_{index}")
    return names


def read_rows(lines: Iterator[Line], names: Sequence[str], *, delimiter: str) -> Iterator[CsvRow]:
    """Yield the rows after the header."""
    csv.field_size_limit(RECORD_BYTES_MAX)
    waiting: deque[Line] = deque()
    while True:
        taken: list[Line] = []
        fault = ""
        row: list[str] = []
        try:
            row = next(csv.reader(_feed(lines, waiting, taken), delimiter=delimiter, strict=True))
        except StopIteration:
            return
        except (csv.Error, _RowTooLong) as error:
            fault = f"record: broken CSV row: {error}"
        if taken[0].fault:
            fault = taken[0].fault
        fault = fault or _find_fault(row, names)
        if fault:
            waiting.extendleft(reversed(taken[1:]))
            yield CsvRow(taken[0].number, taken[0].raw, fault)
            continue
        yield _encode(row, names, taken)


def _encode(row: list[str], names: Sequence[str], taken: list[Line]) -> CsvRow:
    raw = b"".join(line.raw + line.ending for line in taken[:-1]) + taken[-1].raw
    cells = {name: cell for name, cell in zip(names, row, strict=True) if cell}
    try:
        value = msgspec.json.encode(cells)
    except UnicodeEncodeError:
        return CsvRow(taken[0].number, raw, "record: not UTF-8")
    if len(value) > RECORD_BYTES_MAX:
        return CsvRow(taken[0].number, raw, f"record: larger than {RECORD_BYTES_MAX} bytes")
    return CsvRow(taken[0].number, value)


def _find_fault(row: list[str], names: Sequence[str]) -> str:
    if not any(cell.strip() for cell in row):
        return "record: empty line"
    if len(row) != len(names):
        return f"record: CSV row has {len(row)} fields, the header has {len(names)}"
    return ""


def _feed(lines: Iterator[Line], waiting: deque[Line], taken: list[Line]) -> Iterator[str]:
    byte_count = 0
    while True:
        line = waiting.popleft() if waiting else next(lines, None)
        if line is None:
            return
        taken.append(line)
        byte_count += len(line.raw)
        if len(taken) > 1 and (len(taken) > LINES_PER_ROW_MAX or byte_count > ROW_BYTES_MAX or line.blob):
            raise _RowTooLong("a quote is opened and not closed")
        yield (line.raw + line.ending).decode("utf-8", "surrogateescape")


class _RowTooLong(Exception):
    pass


HEADER_ADVICE = "the first line names the columns, for example id,text"
