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

__all__ = ["SharedSync", "Syncs"]

NUMBERS = struct.Struct("=QQ")
"""Commits so far, and how many of them are durable."""


class SharedSync:
    """Makes the commits of one writer durable, together with those of all others. One thread a time."""

    def __init__(self, path: Path, syncs: Syncs) -> None:
        """Open `<path>.sync`."""
        self._syncs = syncs
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
                self._syncs.sync_log()
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


class Syncs:
    """Syncs the files of one connection; belongs to the thread that the connection belongs to."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def sync_log(self) -> None:
        """Make all durable that any process has committed so far.

        Raises:
            apsw.Error: the disk failed; what is durable is not known.
        """
        self._sync(apsw.SQLITE_FCNTL_JOURNAL_POINTER)

    def sync_database(self) -> None:
        """Make all durable that was copied from the log to the file.

        Raises:
            apsw.Error: the disk failed.
        """
        self._sync(apsw.SQLITE_FCNTL_FILE_POINTER)

    def _sync(self, which: int) -> None:
        place = ctypes.c_void_p()
        self._connection.file_control("main", which, ctypes.addressof(place))
        file = _File.from_address(place.value or 0)
        if not file.methods:
            return  # There is no such file yet, so there is nothing in it.
        try:
            code = file.methods.contents.sync(ctypes.addressof(file), apsw.SQLITE_SYNC_NORMAL)
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
