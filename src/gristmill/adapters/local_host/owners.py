"""Owners and the locks that tell whether they live.

An owner is one start of one process. It holds a kernel lock on a file of its own for life; whoever can take that lock
knows that the owner is dead, at once and without a time-out. A file that does not exist says nothing.
"""

from __future__ import annotations

import fcntl
import os
import socket
import uuid
from pathlib import Path
from urllib.parse import quote, unquote

__all__ = ["OwnerLock", "new_owner", "registered_owners"]

SUFFIX = ".owner"
OPEN_FLAGS = os.O_RDWR | os.O_CLOEXEC


def new_owner() -> str:
    """Return a name `host:pid:uuid` that no other start of any process ever has."""
    return f"{socket.gethostname()}:{os.getpid()}:{uuid.UUID(bytes=os.urandom(16), version=4)}"


class OwnerLock:
    """A held lock on an owner's file: by the owner itself for life, or by whoever found it dead."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path = path
        self._descriptor = descriptor

    @classmethod
    def take(cls, folder: Path, owner: str) -> OwnerLock:
        """Register a living owner; blocks only while somebody looks whether it is dead."""
        folder.mkdir(parents=True, exist_ok=True)
        path = _owner_path(folder, owner)
        while True:
            descriptor = os.open(path, OPEN_FLAGS | os.O_CREAT, 0o644)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            # Between open and lock a prober may have taken the new file for a dead owner's and removed it.
            if _is_same_file(path, descriptor):
                return cls(path, descriptor)
            os.close(descriptor)

    @classmethod
    def try_take_dead(cls, folder: Path, owner: str) -> OwnerLock | None:
        """Return the lock of an owner that is known to be dead; None when it lives or never registered."""
        path = _owner_path(folder, owner)
        try:
            descriptor = os.open(path, OPEN_FLAGS)
        except FileNotFoundError:
            return None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        return cls(path, descriptor)

    def release(self) -> None:
        """Give the lock up and leave the file, so that others find the owner dead and tidy up; safe to call twice."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def discard(self) -> None:
        """Remove the file, then give the lock up."""
        self._path.unlink(missing_ok=True)
        self.release()


def registered_owners(folder: Path) -> list[str]:
    """Return the owners that have a file: the living, and the dead that nobody has tidied up after."""
    return sorted(unquote(path.name.removesuffix(SUFFIX)) for path in folder.glob(f"*{SUFFIX}"))


def _owner_path(folder: Path, owner: str) -> Path:
    """Return the lock file of an owner."""
    return folder / f"{quote(owner, safe=':')}{SUFFIX}"


def _is_same_file(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
