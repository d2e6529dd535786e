"""Which offsets an engine is working on, in memory that outlives it.

Layout of `<owner>.marks`: `slots` little 64-bit integers of this host; 0 is a free slot, anything else an offset.
A mark is one store into shared memory: no system call, no lock. The kernel keeps the page when the writer is killed;
a power cut may lose it, and then no item is charged for a death that was not its fault.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Container
from pathlib import Path
from urllib.parse import quote, unquote

from gristmill.domain.errors import InvariantBroken

__all__ = ["RunningMarks", "read_marks", "sweep_marks"]

SUFFIX = ".marks"
FILES_KEPT = 16
"""Marks of the dead that stay, newest first: whoever handed records to a dead engine may read them a moment later."""

SLOT_BYTES = 8
SLOTS_DEFAULT = 4_096


class RunningMarks:
    """Marks of one engine. `set` and `clear` may be called from any thread of it that holds the interpreter lock."""

    def __init__(self, folder: Path, owner: str, *, slots: int = SLOTS_DEFAULT) -> None:
        """Create the file with all slots free."""
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(_marks_path(folder, owner), os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        try:
            # Not `ftruncate`: on a full disk the first mark in a page without a place of its own would be a SIGBUS.
            os.posix_fallocate(descriptor, 0, slots * SLOT_BYTES)
            self._memory = mmap.mmap(descriptor, slots * SLOT_BYTES)
        finally:
            os.close(descriptor)
        self._view = memoryview(self._memory).cast("q")
        self._free = list(range(slots))

    def set(self, offset: int) -> int:
        """Mark an offset as being worked on and return the slot to clear.

        Raises:
            InvariantBroken: more offsets at once than slots.
        """
        if not self._free:
            raise InvariantBroken("marks of running records are used up", value=len(self._view))
        slot = self._free.pop()
        self._view[slot] = offset
        return slot

    def clear(self, slot: int) -> None:
        """Take a mark back."""
        self._view[slot] = 0
        self._free.append(slot)

    def close(self) -> None:
        """Let go of the memory; the file stays for whoever finds the owner dead. Safe to call twice."""
        self._view.release()
        self._memory.close()


def read_marks(folder: Path, owner: str) -> frozenset[int] | None:
    """Return the marked offsets of an owner, or None when it never kept marks."""
    try:
        content = _marks_path(folder, owner).read_bytes()
    except FileNotFoundError:
        return None
    return frozenset(memoryview(content).cast("q")) - {0}


def sweep_marks(folder: Path, living: Container[str]) -> None:
    """Remove old marks of owners not among the living."""
    dead = [path for path in folder.glob(f"*{SUFFIX}") if _owner_of(path) not in living]
    for path in sorted(dead, key=lambda path: path.stat().st_mtime_ns, reverse=True)[FILES_KEPT:]:
        path.unlink(missing_ok=True)


def _marks_path(folder: Path, owner: str) -> Path:
    return folder / f"{quote(owner, safe=':')}{SUFFIX}"


def _owner_of(path: Path) -> str:
    return unquote(path.name.removesuffix(SUFFIX))
