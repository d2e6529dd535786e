"""Copies a store page by page while others write it, as it was at one moment.

The copy is read in one transaction. In write-ahead mode that keeps nobody from writing; only the log cannot start over
until the copy is done, so it grows by what is written meanwhile. Without the transaction the copy would begin again
after every commit of another process, and never end under load.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import apsw
import msgspec

from gristmill.adapters.sqlite.file.connection import BUSY_MS_MAX, StoreFile
from gristmill.adapters.sqlite.file.errors import translate, translated
from gristmill.adapters.sqlite.file.schema import APPLICATION_ID
from gristmill.adapters.sqlite.state.reading import read_counts
from gristmill.domain.errors import ConfigError

__all__ = ["CopiedStore", "copy_database", "copy_store"]

PAGES_PER_STEP = 1_024
"""8 MiB: often enough to tell how far it is, and to be stopped."""

OPEN_LETTERS = "SELECT count(*) FROM dead WHERE is_open"
RECORDS = "SELECT total(record_count - trimmed_count) FROM topic"


class CopiedStore(msgspec.Struct, frozen=True):
    """What a copy holds; `counts` are rows by what they are."""

    schema_version: int
    counts: dict[str, int]


def copy_store(
    file: StoreFile, target: Path, *, on_progress: Callable[[int, int], None] = lambda done, total: None
) -> CopiedStore:
    """Copy a store to a new file, which is whole by itself and on disk when this returns.

    Args:
        on_progress: told how many pages are copied, of how many.
    Raises:
        ConfigError: not a store, or a damaged one.
        Unavailable: it cannot be read, or the disk of the copy is full.
    """
    with translated(file.path):
        reader = file.open_reader()
        try:
            reader.execute("BEGIN")
            copied = _describe(reader, file.path)
            try:
                _copy(reader, target, on_progress)
            except apsw.FullError as error:
                raise translate(error, target) from error
        finally:
            reader.close()
    _sync(target)
    return copied


def copy_database(source: Path, target: Path) -> None:
    """Copy any SQLite file that somebody may be writing just now to a new one; a writer waits for it.

    Raises:
        ConfigError: it is damaged.
        Unavailable: it cannot be read.
    """
    with translated(source):
        reader = apsw.Connection(str(source), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            reader.set_busy_timeout(BUSY_MS_MAX)
            reader.execute("BEGIN; SELECT count(*) FROM sqlite_schema")
            _copy(reader, target, lambda done, total: None)
        finally:
            reader.close()


def _describe(reader: apsw.Connection, path: Path) -> CopiedStore:
    """Begin the snapshot that is copied, and say what is in it."""
    application_id = reader.pragma("application_id")
    if application_id != APPLICATION_ID:
        raise ConfigError(f"{path} is not a Gristmill store", value=application_id, advice="name another state folder")
    counts = {**read_counts(reader), "records": int(reader.execute(RECORDS).get)}
    counts["dead_letters"] = int(reader.execute(OPEN_LETTERS).get)
    return CopiedStore(int(reader.execute("SELECT version FROM schema_version").get), counts)


def _copy(reader: apsw.Connection, target: Path, on_progress: Callable[[int, int], None]) -> None:
    copy = apsw.Connection(str(target))
    try:
        # It is synced as a whole in the end: nobody looks at half a copy.
        copy.pragma("synchronous", "off")
        with copy.backup("main", reader, "main") as backup:
            while not backup.done:
                backup.step(PAGES_PER_STEP)
                on_progress(backup.page_count - backup.remaining, backup.page_count)
        # Out of the write-ahead mode, so that the file needs no other beside it.
        copy.pragma("journal_mode", "delete")
        found = [text for (text,) in copy.execute("PRAGMA quick_check(3)")]
    finally:
        copy.close()
    if found != ["ok"]:
        advice = "the store is damaged: run `gristmill restore` with an earlier backup"
        raise ConfigError(f"copy {target} does not hold together", value="; ".join(found)[:200], advice=advice)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
