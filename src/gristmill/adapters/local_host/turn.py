"""A fair turn on one file for the writers of one host, short ones first.

Two locks instead of one: a writer takes the gate, then the turn, then gives the gate back. A writer that has just
finished finds the gate taken by whoever waits for the turn, so two saturated writers alternate, and a third one waits
for as many turns as there are writers before it. Locks of the kernel (`flock`) end with their holder, however it dies.

Whoever has much to write first passes another such pair of locks, so that only one of them stands at the gate. A writer
with a single record waits for one long turn at most, however many writers are busy.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

__all__ = ["FairTurn"]

OPEN_FLAGS = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC


class FairTurn:
    """The turn of one writer; blocks its thread while it waits, at no cost of CPU. One thread a time.

    `with turn:` for what is written at once, `with turn.long():` for what takes milliseconds.
    """

    def __init__(self, path: Path) -> None:
        """Open `<path>.gate` and `<path>.turn`, and `<path>.long-gate` and `<path>.long-turn`."""
        self._all = _Pair(path, "")
        self._long = _Pair(path, "long-")

    def __enter__(self) -> None:
        self._all.take()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._all.give()

    @contextmanager
    def long(self) -> Iterator[None]:
        """Take a turn that others with little to write may go before."""
        self._long.take()
        try:
            with self:
                yield
        finally:
            self._long.give()

    def close(self) -> None:
        """Close all files; safe to call twice."""
        self._all.close()
        self._long.close()


class _Pair:
    """A gate and a turn."""

    def __init__(self, path: Path, prefix: str) -> None:
        self._gate = os.open(f"{path}.{prefix}gate", OPEN_FLAGS, 0o644)
        self._turn = os.open(f"{path}.{prefix}turn", OPEN_FLAGS, 0o644)

    def take(self) -> None:
        fcntl.flock(self._gate, fcntl.LOCK_EX)
        try:
            fcntl.flock(self._turn, fcntl.LOCK_EX)
        finally:
            fcntl.flock(self._gate, fcntl.LOCK_UN)

    def give(self) -> None:
        fcntl.flock(self._turn, fcntl.LOCK_UN)

    def close(self) -> None:
        for descriptor in {self._gate, self._turn} - {-1}:
            os.close(descriptor)
        self._gate = self._turn = -1
