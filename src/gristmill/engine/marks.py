"""Which records an engine is working on at this very moment, readable after it has died.

A file of N slots of 8 bytes, mapped into memory: slot i holds the log offset of one record under work, or 0. The
mapping belongs to the kernel, so what was stored last outlives `kill -9` of the writer. A store is one machine word: a
reader sees the old offset or the new one, never half of each. Offsets start at 1.
"""

from __future__ import annotations

import mmap
import os
from pathlib import Path
from typing import Protocol

from gristmill.domain.errors import UsageError

__all__ = ["FileMarks", "Marks", "NoMarks", "read_marks"]

SLOT_BYTES = 8


class Marks(Protocol):
    """Slots that say what runs now. A store costs well under a microsecond: no system call, no lock."""

    def set(self, slot: int, offset: int) -> None:
        """Say that the record at this log offset is being worked on; 0 <= slot < slot_count."""
        ...

    def clear(self, slot: int) -> None:
        """Say that nothing is being worked on in this slot."""
        ...


class NoMarks:
    """Marks of an engine whose death nobody survives: tests, and one process for everything in memory."""

    def set(self, slot: int, offset: int) -> None:
        """Do nothing."""

    def clear(self, slot: int) -> None:
        """Do nothing."""


class FileMarks:
    """Marks in a file of `slot_count` slots, made new and empty.

    Args:
        path: one file for each start of an engine; named by its owner name.
    """

    def __init__(self, path: Path, *, slot_count: int) -> None:
        if slot_count < 1:
            raise UsageError("marks need a slot", value=slot_count)
        size = slot_count * SLOT_BYTES
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            os.ftruncate(descriptor, size)
            self._map = mmap.mmap(descriptor, size)
        finally:
            os.close(descriptor)
        self._slots = memoryview(self._map).cast("q")

    def set(self, slot: int, offset: int) -> None:
        """Say that the record at this log offset is being worked on."""
        self._slots[slot] = offset

    def clear(self, slot: int) -> None:
        """Say that nothing is being worked on in this slot."""
        self._slots[slot] = 0

    def close(self) -> None:
        """Unmap; the file stays for whoever wants to read it. Safe twice."""
        self._slots.release()
        self._map.close()


def read_marks(path: Path) -> frozenset[int]:
    """Return the log offsets that are marked, empty where there is no file."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return frozenset()
    whole = len(content) // SLOT_BYTES * SLOT_BYTES
    return frozenset(offset for offset in memoryview(content[:whole]).cast("q") if offset > 0)
