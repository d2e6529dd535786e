"""Where text for people goes: as wide as the terminal, and unbroken where there is none."""

from __future__ import annotations

import sys

from rich.console import Console

__all__ = ["plain_console"]

FILE_COLUMNS = 1_000
"""Width where nobody looks: a line of a table stays one line, for `grep` and friends."""


def plain_console(*, is_stderr: bool = False) -> Console:
    """Return a console that prints texts as they are, without markup or colours of its own."""
    stream = sys.stderr if is_stderr else sys.stdout
    width = None if stream.isatty() else FILE_COLUMNS
    return Console(stderr=is_stderr, highlight=False, markup=False, soft_wrap=True, width=width)
