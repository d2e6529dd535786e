"""Makes commits durable after their turn, few syncs for the commits of many processes.

All processes sync the log one after the other, and each time everything is durable that any of them has committed by
then. So commits are numbered, and whoever has waited behind the sync of another one finds its own commit done mostly:
two syncs at once would only make each other slow. The two numbers lie in memory that the processes share, in 16 bytes
of a file that no disk tears apart: whatever moment of them survives a power failure, the next commit is above both.

A file is synced as SQLite would do it, through the methods of its open file, so that a test's file layer sees it. The
driver's own way to call them keeps the interpreter lock for as long as the disk takes; a plain function pointer does
not. Opening the file once more is no way out: closing that would drop the locks that this process holds on it.
"""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
import struct
import sys
from pathlib import Path

import apsw

from gristmill.domain.errors import InvariantBroken

__all__ = ["OpenFile", "SharedSync"]

NUMBERS = struct.Struct("=QQ")
"""Commits so far, and how many of them are durable."""


class SharedSync:
    """Makes the commits of one writer durable, together with those of all others. `finish` belongs to one thread."""

    def __init__(self, path: Path, log: OpenFile) -> None:
        """Open `<path>.sync`."""
        self._log = log
        self._lock = os.open(f"{path}.sync", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        if os.fstat(self._lock).st_size < NUMBERS.size:
            os.ftruncate(self._lock, NUMBERS.size)
        self._numbers = mmap.mmap(self._lock, NUMBERS.size)

    def note_commit(self) -> int:
        """Return the number of a commit that has just been made; call it while the turn is held."""
        number = self._read()[0] + 1
        self._numbers[:8] = number.to_bytes(8, sys.byteorder)
        return number

    def finish(self, number: int) -> None:
        """Return when the commit of this number is durable.

        Raises:
            apsw.Error: the disk failed; what is durable is not known.
        """
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        try:
            committed, durable = self._read()
            if durable < number or durable > committed:
                self._log.sync()
                self._numbers[8:] = committed.to_bytes(8, sys.byteorder)
        finally:
            fcntl.flock(self._lock, fcntl.LOCK_UN)

    def close(self) -> None:
        """Close the file."""
        self._numbers.close()
        os.close(self._lock)

    def _read(self) -> tuple[int, int]:
        committed, durable = NUMBERS.unpack(self._numbers)
        return committed, durable


class OpenFile:
    """A file that a connection has open, as long as the connection is."""

    def __init__(self, connection: apsw.Connection, which: int) -> None:
        place = ctypes.c_void_p()
        connection.file_control("main", which, ctypes.addressof(place))
        self._address = place.value or 0
        if not self._address or not _File.from_address(self._address).methods:
            raise InvariantBroken(f"store {connection.filename} does not have the file open that is to be synced")

    @classmethod
    def log(cls, connection: apsw.Connection) -> OpenFile:
        """Return the write-ahead log of a connection that has read or written."""
        return cls(connection, apsw.SQLITE_FCNTL_JOURNAL_POINTER)

    @classmethod
    def database(cls, connection: apsw.Connection) -> OpenFile:
        """Return the file that the log is copied to."""
        return cls(connection, apsw.SQLITE_FCNTL_FILE_POINTER)

    def sync(self) -> None:
        """Make durable whatever any process has written to the file. May be called from any thread.

        Raises:
            apsw.Error: the disk failed.
        """
        methods = _File.from_address(self._address).methods.contents
        try:
            code = methods.sync(self._address, apsw.SQLITE_SYNC_NORMAL)
        except SystemError as error:
            # A file layer written in Python has raised, and the driver could not hand that over.
            if isinstance(error.__cause__, apsw.Error):
                raise error.__cause__ from None
            raise
        if code:
            raise apsw.exception_for(code)


class _Methods(ctypes.Structure):
    """The first of `sqlite3_io_methods`, whose order SQLite keeps for good."""

    _fields_ = [
        ("version", ctypes.c_int),
        ("close", ctypes.c_void_p),
        ("read", ctypes.c_void_p),
        ("write", ctypes.c_void_p),
        ("truncate", ctypes.c_void_p),
        ("sync", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int)),
    ]


class _File(ctypes.Structure):
    """A `sqlite3_file`."""

    _fields_ = [("methods", ctypes.POINTER(_Methods))]
