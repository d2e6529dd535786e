"""Writes the output of a run and sums it up."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import msgspec

from gristmill.domain.errors import Unavailable, UsageError
from gristmill.runtime.batch.outcomes import OutcomeLine

__all__ = ["STDOUT", "Summary", "check_output", "write_outcomes"]

STDOUT = Path("-")
ERROR_CHARS_MAX = 160
"""Errors that begin alike are counted as one kind."""


class Summary(msgspec.Struct):
    """What came of an input.

    Attributes:
        statuses, labels: how many lines have each.
        errors: how many lines failed or are in quarantine for each reason.
    """

    statuses: Counter[str]
    labels: Counter[str]
    errors: Counter[str]

    @property
    def item_count(self) -> int:
        return self.statuses.total()

    @property
    def is_clean(self) -> bool:
        """Whether nothing failed and nothing is in quarantine."""
        return not (self.statuses["failed"] or self.statuses["quarantined"])


def check_output(path: Path | None, *, input: Path) -> None:
    """Refuse an output that cannot be written, before any work is done.

    Raises:
        UsageError: it is the input or a folder, or its folder does not exist or cannot be written.
    """
    if path is None or path == STDOUT:
        return
    if path.resolve() == input.resolve():
        raise UsageError("output would replace the input", value=str(path), advice="name another file")
    if path.is_dir():
        raise UsageError("output is a folder", value=str(path), advice="name a file in it")
    target = path.resolve()
    if not target.parent.is_dir():
        raise UsageError("folder of the output does not exist", value=str(path), advice="create it first")
    if not os.access(target.parent if target.is_file() or not target.exists() else target, os.W_OK):
        raise UsageError("output cannot be written", value=str(path), advice="choose another folder")


async def write_outcomes(outcomes: AsyncIterator[OutcomeLine], output: Path | None) -> Summary:
    """Write one JSON line an outcome and return their sum; a file appears whole or not at all.

    Raises:
        Unavailable: the output cannot be written; what was found is stored, and a repeat writes it.
        BrokenPipeError: whoever reads the output has had enough.
    """
    try:
        return await _write_to(outcomes, output)
    except BrokenPipeError:
        raise
    except OSError as error:
        advice = f"{error.strerror or error}; nothing is lost: call again to write it from the store"
        raise Unavailable("output cannot be written", value=str(output), advice=advice) from error


async def _write_to(outcomes: AsyncIterator[OutcomeLine], output: Path | None) -> Summary:
    if output is None:
        return await _write(outcomes, None)
    if output == STDOUT:
        return await _write(outcomes, sys.stdout.buffer)
    with _opened(output) as file:
        return await _write(outcomes, file)


@contextmanager
def _opened(output: Path) -> Iterator[BinaryIO]:
    target = output.resolve()
    if target.exists() and not target.is_file():
        # A device or a pipe: something to write to, never something to replace.
        with target.open("wb") as file:
            yield file
        return
    unfinished = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with unfinished.open("wb") as file:
            yield file
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)


async def _write(outcomes: AsyncIterator[OutcomeLine], file: BinaryIO | None) -> Summary:
    summary = Summary(Counter(), Counter(), Counter())
    encode = msgspec.json.Encoder().encode
    async for line in outcomes:
        summary.statuses[line.status] += 1
        summary.labels.update({label.val for label in line.labels})
        if line.error:
            summary.errors[f"{line.status}: {line.error[:ERROR_CHARS_MAX]}"] += 1
        if file is not None:
            file.write(encode(line) + b"\n")
    if file is not None:
        file.flush()
    return summary
