"""The nearest known name, for messages about unknown ones."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = ["advise_known"]

SHOWN_NAMES_MAX = 40
"""More names than this make a message unreadable."""


def advise_known(name: str, known: Iterable[str]) -> str:
    """Return "did you mean ...? known: ..." for an unknown name."""
    names = sorted(known)
    close = get_close_matches(name, names, n=1, cutoff=0.5)
    guess = f"did you mean {close[0]!r}? " if close else ""
    shown = ", ".join(names[:SHOWN_NAMES_MAX]) or "none"
    more = f" and {len(names) - SHOWN_NAMES_MAX} more" if len(names) > SHOWN_NAMES_MAX else ""
    return f"{guess}known: {shown}{more}"
