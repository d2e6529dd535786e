"""A fair turn on one file for the writers of one host.

Two locks instead of one: a writer takes the gate, then the turn, then gives the gate back. A writer that has just
finished finds the gate taken by whoever waits for the turn, so two saturated writers alternate, and a third one waits
for as many turns as there are writers before it. Locks of the kernel (`flock`) end with their holder, however it dies.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from types import TracebackType

__all__ = ["FairTurn"]

OPEN_FLAGS = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC


class FairTurn:
    """The turn of one writer; blocks its thread while it waits, at no cost of CPU. One thread a time."""

    def __init__(self, path: Path) -> None:
        """Open `<path>.gate` and `<path>.turn`."""
        self._gate = os.open(f"{path}.gate", OPEN_FLAGS, 0o644)
        self._turn = os.open(f"{path}.turn", OPEN_FLAGS, 0o644)

    def __enter__(self) -> None:
        fcntl.flock(self._gate, fcntl.LOCK_EX)
        try:
            fcntl.flock(self._turn, fcntl.LOCK_EX)
        finally:
            fcntl.flock(self._gate, fcntl.LOCK_UN)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        fcntl.flock(self._turn, fcntl.LOCK_UN)

    def close(self) -> None:
        """Close both files; safe to call twice."""
        for descriptor in {self._gate, self._turn} - {-1}:
            os.close(descriptor)
        self._gate = self._turn = -1
