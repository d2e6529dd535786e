"""Where text for people goes: as wide as the terminal, and unbroken where there is none."""

from __future__ import annotations

import re
import sys
from typing import Any

from rich.console import Console
from rich.text import Text

__all__ = ["plain_console", "write_out_steering"]

FILE_COLUMNS = 1_000
"""Width where nobody looks: a line of a table stays one line, for `grep` and friends."""


STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Signs that move the cursor, colour the screen, name the window, or turn the direction of reading."""


def write_out_steering(text: str) -> str:
    """Return a text in which signs that steer a terminal are written out: content may come from anyone."""
    return STEERING.sub(lambda found: found.group().encode("unicode_escape").decode(), text)


def plain_console(*, is_stderr: bool = False) -> Console:
    """Return a console that prints texts without markup or colours of its own, which obeys none of them."""
    stream = sys.stderr if is_stderr else sys.stdout
    width = None if stream.isatty() else FILE_COLUMNS
    return _Console(stderr=is_stderr, highlight=False, markup=False, soft_wrap=True, width=width)


class _Console(Console):
    def render_str(self, text: str, **options: Any) -> Text:
        """Make a text of what is printed, cells of tables included."""
        return super().render_str(write_out_steering(text), **options)
