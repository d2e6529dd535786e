"""How soon a thread gets the interpreter from another one that computes."""

from __future__ import annotations

import sys

__all__ = ["switch_often"]

SWITCH_S = 0.0005
"""The thread that writes the store asks for the interpreter at every statement, a dozen times a turn. At the usual 5 ms
a busy event loop would keep it that long each time, with the writers of all other processes waiting."""


def switch_often() -> None:
    """Let the threads of this process share the interpreter in short slices."""
    sys.setswitchinterval(SWITCH_S)
