"""Who goes first: threads that share an interpreter, and processes that share the processors of a machine."""

from __future__ import annotations

import os
import sys

__all__ = ["give_way", "switch_often"]

SWITCH_S = 0.0005
"""The thread that writes the store asks for the interpreter at every statement, a dozen times a turn. At the usual 5 ms
a busy event loop would keep it that long each time, with the writers of all other processes waiting."""


def switch_often() -> None:
    """Let the threads of this process share the interpreter in short slices."""
    sys.setswitchinterval(SWITCH_S)


def give_way(by: int) -> None:
    """Let other processes go before this one, by so many steps of niceness, as soon as its store is open.

    On Linux that is true of the calling thread and of those it starts from now on. The thread that writes the store
    goes on as before: whoever has the turn at the file holds up everybody, those with precedence too.
    """
    if by:
        os.nice(by)
