"""A fair turn on one file for the writers of one host, short ones first.

Two locks instead of one: a writer takes the gate, then the turn, then gives the gate back. A writer that has just
finished finds the gate taken by whoever waits for the turn, so two saturated writers alternate, and a third one waits
for as many turns as there are writers before it. Locks of the kernel (`flock`) end with their holder, however it dies.

Whoever has much to write first passes another such pair of locks, so that only one of them stands at the gate. A writer
with a single record waits for one long turn at most, however many writers are busy.

A writer for whom somebody waits passes no gate. It holds *front* while it waits for the turn and has it; whoever comes
from the gate and finds front taken gives the turn back, once, and is next: until then it holds *owed*, and whoever
finds that taken passes the gate like everybody else.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

__all__ = ["FairTurn"]

LOCKS = ("gate", "turn", "long-gate", "long-turn", "front", "owed")
OPEN_FLAGS = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC


class FairTurn:
    """The turn of one writer; blocks its thread while it waits, at no cost of CPU. One thread a time.

    `with turn:` for what is written at once, `with turn.long():` for what takes milliseconds, `with turn.first():` for
    what is written at once and somebody waits for.
    """

    def __init__(self, path: Path) -> None:
        """Open `<path>.gate`, `.turn`, `.long-gate`, `.long-turn`, `.front` and `.owed`."""
        self._files = [os.open(f"{path}.{name}", OPEN_FLAGS, 0o644) for name in LOCKS]
        self._gate, self._turn, self._long_gate, self._long_turn, self._front, self._owed = self._files

    def __enter__(self) -> None:
        with _locked(self._gate):
            _lock(self._turn)
            if _is_taken(self._front):
                self._let_first()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _unlock(self._turn)

    @contextmanager
    def long(self) -> Iterator[None]:
        """Take a turn that others with little to write may go before."""
        with _locked(self._long_gate):
            _lock(self._long_turn)
        try:
            with self:
                yield
        finally:
            _unlock(self._long_turn)

    @contextmanager
    def first(self) -> Iterator[None]:
        """Take the next turn there is, unless somebody has given way already."""
        if _is_taken(self._owed):
            with self:
                yield
            return
        with _locked(self._front), _locked(self._turn):
            yield

    def close(self) -> None:
        """Close all files; safe to call twice."""
        while self._files:
            os.close(self._files.pop())

    def _let_first(self) -> None:
        with _locked(self._owed):
            _unlock(self._turn)
            with _locked(self._front):
                pass  # Whoever is first has had its turn.
            _lock(self._turn)


def _lock(descriptor: int) -> None:
    fcntl.flock(descriptor, fcntl.LOCK_EX)


def _unlock(descriptor: int) -> None:
    fcntl.flock(descriptor, fcntl.LOCK_UN)


@contextmanager
def _locked(descriptor: int) -> Iterator[None]:
    _lock(descriptor)
    try:
        yield
    finally:
        _unlock(descriptor)


def _is_taken(descriptor: int) -> bool:
    """Whether another writer holds a lock."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    _unlock(descriptor)
    return False
