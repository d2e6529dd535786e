"""The one thread of a process that reads a store; reads never wait for writers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import apsw

from gristmill.adapters.sqlite.file.connection import StoreFile
from gristmill.adapters.sqlite.file.errors import translated
from gristmill.domain.errors import Unavailable

__all__ = ["Reader"]

T = TypeVar("T")


class Reader:
    """Owns the reading connection, opened with the first read. Every read sees all that was committed before it."""

    def __init__(self, file: StoreFile) -> None:
        self._file = file
        self._thread: ThreadPoolExecutor | None = ThreadPoolExecutor(max_workers=1, thread_name_prefix="sqlite-reader")
        self._connection: apsw.Connection | None = None

    async def do(self, read: Callable[[apsw.Connection], T]) -> T:
        """Run a read in one snapshot and return its answer.

        Raises:
            Unavailable: the file cannot be read now.
        """
        if self._thread is None:
            raise Unavailable(f"store {self._file.path} is closed", advice="open it again")
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._run, read)

    def close(self) -> None:
        """Finish what is queued and close the connection; safe to call twice."""
        if self._thread is not None:
            self._thread.submit(self._close_connection)
            self._thread.shutdown(wait=True)
            self._thread = None

    def _run(self, read: Callable[[apsw.Connection], T]) -> T:
        with translated(self._file.path):
            if self._connection is None:
                self._connection = self._file.open_reader()
            self._connection.execute("BEGIN")
            try:
                return read(self._connection)
            finally:
                self._connection.execute("COMMIT")

    def _close_connection(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
