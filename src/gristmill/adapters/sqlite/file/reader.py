"""The one thread of a process that reads a store; reads never wait for writers.

Not an executor: a frame asks for its ids once, and what an executor does around a call cost as much as the answer.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import apsw

from gristmill.adapters.sqlite.file.connection import StoreFile
from gristmill.adapters.sqlite.file.errors import translated
from gristmill.domain.errors import Unavailable

__all__ = ["Reader"]

T = TypeVar("T")


@dataclass(slots=True)
class _Call:
    read: Callable[[apsw.Connection], Any]
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    answer: Any = None
    error: BaseException | None = None


class Reader:
    """Owns the reading connection, opened with the first read. Every read sees all that was committed before it."""

    def __init__(self, file: StoreFile) -> None:
        self._file = file
        self._calls: queue.SimpleQueue[_Call | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._is_closed = False

    async def do(self, read: Callable[[apsw.Connection], T]) -> T:
        """Run a read in one snapshot and return its answer.

        Raises:
            Unavailable: the file cannot be read now.
        """
        if self._is_closed:
            raise Unavailable(f"store {self._file.path} is closed", advice="open it again")
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="sqlite-reader", daemon=True)
            self._thread.start()
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._calls.put(_Call(read, loop, future))
        return await future

    def close(self) -> None:
        """Finish what is queued and close the connection; safe to call twice."""
        self._is_closed = True
        self._calls.put(None)
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _work(self) -> None:
        connection: apsw.Connection | None = None
        while (call := self._calls.get()) is not None:
            try:
                with translated(self._file.path):
                    if connection is None:
                        connection = self._file.open_reader()
                    call.answer = _read(connection, call.read)
            except Exception as error:
                call.error = error
            try:
                call.loop.call_soon_threadsafe(_resolve, call)
            except RuntimeError:
                continue  # The loop is closed; nobody waits any more.
        if connection is not None:
            connection.close()


def _read(connection: apsw.Connection, read: Callable[[apsw.Connection], T]) -> T:
    connection.execute("BEGIN")
    try:
        return read(connection)
    finally:
        connection.execute("COMMIT")


def _resolve(call: _Call) -> None:
    if call.future.done():
        return
    if call.error is not None:
        call.future.set_exception(call.error)
    else:
        call.future.set_result(call.answer)
