"""Copies committed pages from the write-ahead log to the file, on a thread of its own beside the writer's.

SQLite would do it inside a commit, with every writer of every process waiting. Here it runs while others write. As long
as they do, it never gets to the end of the log, and the log cannot start over; so when the log has grown long, the
last pages are copied inside a turn of the checkpointer's own, which is short because nearly all are copied by then.

SQLite syncs the file only with the copy that reaches the end of the log. So it is synced here after every copy: else
the last one, inside the turn, would wait for the disk to take in all the others.
"""

from __future__ import annotations

import threading

import apsw

from gristmill.adapters.local_host.turn import FairTurn
from gristmill.adapters.sqlite.file.connection import StoreFile
from gristmill.adapters.sqlite.file.syncing import OpenFile

__all__ = ["Checkpointer", "WriteAheadLog"]

LOG_PAGES_MAX = 8_000
"""64 MiB of pages; a longer log slows every reader down."""

PAGES_PER_TURN_MAX = 100
ROUNDS_MAX = 10
"""How often to copy beside the writers, until few enough pages are left for a turn (800 KiB, less than a millisecond).
Every round copies what was written during the one before, which takes less time than writing it did."""


class Checkpointer:
    """Starts its thread with the first request. `request` may be called from any thread."""

    def __init__(self, file: StoreFile) -> None:
        self._file = file
        self._is_wanted = threading.Event()
        self._is_closing = False
        self._thread: threading.Thread | None = None

    def request(self) -> None:
        """Have the log copied soon; returns at once."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="sqlite-checkpointer", daemon=True)
            self._thread.start()
        self._is_wanted.set()

    def close(self) -> None:
        """Wait for a copy under way and end the thread; safe to call twice."""
        self._is_closing = True
        self._is_wanted.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _work(self) -> None:
        log = WriteAheadLog(self._file)
        while True:
            self._is_wanted.wait()
            self._is_wanted.clear()
            if self._is_closing:
                break
            try:
                log.copy()
            except apsw.Error:
                continue  # Another process is at it, or the disk is full; the log stays and is copied later.
        log.close()


class WriteAheadLog:
    """The write-ahead log of a store, as seen by whoever copies it."""

    def __init__(self, file: StoreFile) -> None:
        self._connection = file.open_reader()
        self._turn = FairTurn(file.path)
        self._database = OpenFile.database(self._connection)

    def copy(self) -> None:
        """Copy the log beside the writers, and to its end in a turn when it has grown long.

        Raises:
            apsw.Error: another process copies it, or the disk failed.
        """
        log_pages, copied = self._copy_and_sync()
        if log_pages <= LOG_PAGES_MAX:
            return
        for _ in range(ROUNDS_MAX):
            if log_pages - copied <= PAGES_PER_TURN_MAX:
                break
            log_pages, copied = self._copy_and_sync()
        with self._turn.long():
            self._copy_some()

    def close(self) -> None:
        """Close the file."""
        self._turn.close()
        self._connection.close()

    def _copy_and_sync(self) -> tuple[int, int]:
        pages = self._copy_some()
        self._database.sync()
        return pages

    def _copy_some(self) -> tuple[int, int]:
        """Copy what can be copied without waiting for anyone; return the pages of the log and how many are copied."""
        return self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
