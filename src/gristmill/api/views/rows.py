"""Items as rows of a table, for files and pages."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType

from gristmill.api.problems import Fault, problem
from gristmill.api.reading import FoundItem, latest_runs
from gristmill.domain.front.times import is_calendar_time, write_time

__all__ = ["COLUMNS", "read_columns", "write_rows"]

BETWEEN = " "
"""Between several values of one cell: no label and no plan key holds a blank."""

COLUMNS: Mapping[str, Callable[[FoundItem], str]] = MappingProxyType(
    {
        "item_id": lambda found: str(found.item.item_id),
        "time": lambda found: write_time(found.at_ms) if is_calendar_time(found.at_ms) else "",
        "status": lambda found: found.status,
        "labels": lambda found: BETWEEN.join(dict.fromkeys(one.label.val for one in found.labels if one.holds)),
        "negated": lambda found: BETWEEN.join(dict.fromkeys(one.label.val for one in found.labels if not one.holds)),
        "text": lambda found: found.item.text,
        "author": lambda found: found.item.author or "",
        "kind": lambda found: found.item.kind,
        "source": lambda found: found.item.source,
        "input_id": lambda found: found.item.input_id,
        "plans": lambda found: BETWEEN.join(run.plan for run in latest_runs(found.runs)),
        "revision": lambda found: str(found.item.revision),
        "tenant": lambda found: found.item.tenant,
    }
)
"""Name -> what stands in that column."""

FORMULA_STARTS = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""What makes a spreadsheet calculate, in its full-width forms too."""

CONTROL_STARTS = ("\t", "\r", "\n")

INNER_START = re.compile(rf"(?<![\s;\"])([\s;\"]++)([{re.escape(''.join(FORMULA_STARTS))}])")
"""A sign behind what may be the end of a cell: each run of such characters is looked at once."""

ENDS_OF_CELLS = frozenset(";\t\r\n")
"""Half of Europe has columns apart by semicolons; quotes within a line hold nothing together then."""


def read_columns(text: str) -> tuple[str, ...]:
    """Return the columns that are named, each once; all of them when none is.

    Raises:
        ProblemRaised: `validation`: there is no such column.
    """
    names = tuple(dict.fromkeys(name for name in text.split(",") if name))
    unknown = [name for name in names if name not in COLUMNS]
    if unknown:
        raise problem("validation", "query", errors=[Fault("columns", f"knows no {unknown[0][:64]!r}")])
    return names or tuple(COLUMNS)


def write_rows(rows: Iterable[Sequence[str]]) -> bytes:
    """Return rows as CSV (RFC 4180); what a spreadsheet would calculate gets an apostrophe in front."""
    file = io.StringIO(newline="")
    csv.writer(file).writerows([_neutralise(value) for value in row] for row in rows)
    return file.getvalue().encode("utf-8", "replace")


def _neutralise(value: str) -> str:
    bare = value.lstrip()
    is_risky = value.startswith(CONTROL_STARTS) or bare.startswith(FORMULA_STARTS)
    inner = INNER_START.sub(_mark, bare)
    return ("'" if is_risky else "") + value[: len(value) - len(bare)] + inner


def _mark(found: re.Match[str]) -> str:
    return f"{found[1]}'{found[2]}" if ENDS_OF_CELLS.intersection(found[1]) else found[0]
