"""Copies committed pages from the write-ahead log to the file, on a thread of its own beside the writer's.

SQLite would do it inside a commit, with every writer of every process waiting. Here it runs while others write. As long
as they do, it never gets to the end of the log, and the log cannot start over; so when the log has grown long, the
last pages are copied inside a turn of the checkpointer's own, which is short because nearly all are copied by then.
"""

from __future__ import annotations

import threading

import apsw

from gristmill.adapters.local_host.turn import FairTurn
from gristmill.adapters.sqlite.file.connection import StoreFile

__all__ = ["Checkpointer", "copy_log"]

LOG_PAGES_MAX = 8_000
"""64 MiB of pages; a longer log slows every reader down."""

PAGES_PER_TURN_MAX = 500
ROUNDS_MAX = 4
"""How often to copy beside the writers, until few enough pages are left for a turn."""


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
        connection = self._file.open_reader()
        turn = FairTurn(self._file.path)
        while True:
            self._is_wanted.wait()
            self._is_wanted.clear()
            if self._is_closing:
                break
            try:
                copy_log(connection, turn)
            except apsw.Error:
                continue  # Another process is at it, or the disk is full; the log stays and is copied later.
        turn.close()
        connection.close()


def copy_log(connection: apsw.Connection, turn: FairTurn) -> None:
    """Copy the log beside the writers, and to its end in a turn when it has grown long.

    Raises:
        apsw.Error: another process copies it, or the disk failed.
    """
    log_pages, copied = _copy_beside_writers(connection)
    if log_pages <= LOG_PAGES_MAX:
        return
    for _ in range(ROUNDS_MAX):
        if log_pages - copied <= PAGES_PER_TURN_MAX:
            break
        log_pages, copied = _copy_beside_writers(connection)
    with turn:
        _copy_beside_writers(connection)


def _copy_beside_writers(connection: apsw.Connection) -> tuple[int, int]:
    """Copy what can be copied without waiting for anyone; return the pages of the log and how many are copied."""
    return connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
