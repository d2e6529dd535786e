"""Samples of records that are no lines: each file is one record, as its bytes stand in a log."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gristmill.domain.errors import UsageError
from gristmill.domain.log import NewRecord
from gristmill.ports.log import RECORD_BYTES_MAX

__all__ = ["read_samples"]


def read_samples(path: Path) -> Iterator[NewRecord]:
    """Yield the record of a file, or one for each file of a folder, by their names.

    Raises:
        UsageError: there is no file, or it is larger than a record may be.
    """
    files = sorted(file for file in path.iterdir() if file.is_file()) if path.is_dir() else [path]
    if not files:
        raise UsageError("sample folder is empty", value=str(path), advice="put records into it, each in a file")
    for file in files:
        try:
            value = file.read_bytes()
        except OSError as error:
            advice = error.strerror or str(error)
            raise UsageError("sample cannot be read", value=str(file), advice=advice) from error
        if len(value) > RECORD_BYTES_MAX:
            advice = f"{RECORD_BYTES_MAX} bytes are the most; put each record into a file of its own"
            raise UsageError(f"sample {file.name!r} is too large", value=len(value), advice=advice)
        yield NewRecord(value)
