"""Opens connections to a store: one that writes, one that only reads."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import apsw

from gristmill.adapters.local_host.turn import FairTurn
from gristmill.adapters.sqlite.file.errors import translate
from gristmill.adapters.sqlite.file.schema import prepare_schema

__all__ = ["BUSY_MS_MAX", "StoreFile", "Synchronous", "read_version"]

Synchronous = Literal["FULL", "NORMAL"]
"""FULL: a commit survives power loss. NORMAL: it survives a process kill; the last ones may be lost with the power."""

PAGE_BYTES = 8_192
"""Two runs of a usual flow fit a page; 4 KiB holds one and wastes the rest, 16 KiB makes small commits dear."""

WRITER_CACHE_KIB = 32_768
READER_CACHE_KIB = 8_192
BUSY_MS_MAX = 5_000
"""Writers wait for their turn and never for this; it only covers foreign programs that write the file."""

OPEN_FLAGS = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_NOMUTEX
"""Every connection belongs to one thread, so SQLite need not guard it against others."""

STATEMENTS_KEPT = 200
"""All that a store prepares, each table's for several numbers of rows."""

WAL_BYTES_KEPT = 64 * 1024 * 1024
"""A log that has grown beyond this is cut back once it starts over."""


@dataclass(frozen=True)
class StoreFile:
    """Where a store lies and how it is opened. `vfs` names a registered file layer, for tests."""

    path: Path
    synchronous: Synchronous = "FULL"
    vfs: str | None = None

    @property
    def owners_folder(self) -> Path:
        """Where the life locks and marks of its owners lie."""
        return self.path.with_name(f"{self.path.name}.owners")

    @property
    def bells_folder(self) -> Path:
        """Where the sockets lie by which its processes wake each other."""
        return self.path.with_name(f"{self.path.name}.bells")

    def open_writer(self, turn: FairTurn) -> apsw.Connection:
        """Open the file for writing and make it a store if it is new.

        Raises:
            ConfigError: not a store, a damaged one, or one of another schema version.
            Unavailable: it cannot be opened.
        """
        try:
            connection = self._connect(WRITER_CACHE_KIB)
        except apsw.Error as error:
            raise translate(error, self.path) from error
        try:
            with turn:
                self._prepare(connection)
        except apsw.Error as error:
            connection.close()
            raise translate(error, self.path) from error
        except BaseException:
            connection.close()
            raise
        return connection

    def open_reader(self) -> apsw.Connection:
        """Open an existing store for reading only."""
        connection = self._connect(READER_CACHE_KIB)
        connection.pragma("query_only", True)
        return connection

    def _connect(self, cache_kib: int) -> apsw.Connection:
        connection = apsw.Connection(str(self.path), flags=OPEN_FLAGS, vfs=self.vfs, statementcachesize=STATEMENTS_KEPT)
        connection.set_busy_timeout(BUSY_MS_MAX)
        # One plan for each statement, whatever is bound: else those that a partial index might serve are prepared again
        # whenever an owner or a position changes, which is at every call.
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        connection.pragma("cache_size", -cache_kib)
        connection.pragma("temp_store", "memory")
        connection.pragma("trusted_schema", False)
        return connection

    def _prepare(self, connection: apsw.Connection) -> None:
        connection.pragma("page_size", PAGE_BYTES)
        connection.pragma("journal_mode", "wal")
        connection.pragma("synchronous", self.synchronous)
        connection.pragma("journal_size_limit", WAL_BYTES_KEPT)
        # The checkpointer does it, so that no commit waits for it.
        connection.wal_autocheckpoint(0)
        connection.execute("BEGIN IMMEDIATE")
        try:
            prepare_schema(connection, self.path)
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")


def read_version() -> tuple[int, ...]:
    """Return the version of SQLite."""
    return tuple(int(part) for part in apsw.sqlite_lib_version().split("."))
