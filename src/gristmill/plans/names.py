"""What things may be called, and the nearest known name for messages about unknown ones."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from gristmill.domain.errors import GristmillError, UsageError

__all__ = ["advise_known", "check_name"]

SHOWN_NAMES_MAX = 40
"""More names than this make a message unreadable."""

NAME_CHARACTERS_MAX = 120
"""Names stand in metrics, keys and tables."""


def check_name(thing: str, name: object, *, refuse: type[GristmillError] = UsageError) -> None:
    """Refuse a name that could not stand in a command, a metric label or a key.

    Args:
        refuse: what to raise; ConfigError where start-up finds it.
    Raises:
        UsageError: not text, empty, too long, or with characters other than letters, digits and `_ - . :`.
    """
    if not isinstance(name, str) or not name or len(name) > NAME_CHARACTERS_MAX:
        raise refuse(thing, value=name, advice=f"use a text of 1 to {NAME_CHARACTERS_MAX} characters")
    for character in name:
        if not character.isalnum() and character not in "_-.:":
            advice = f"{character!r} cannot stand in a name; use letters, digits and _ - . :"
            raise refuse(thing, value=name, advice=advice)


def advise_known(name: str, known: Iterable[str]) -> str:
    """Return "did you mean ...? known: ..." for an unknown name; upper and lower case count as alike."""
    names = sorted(known)
    folded = {known_name.casefold(): known_name for known_name in names}
    close = get_close_matches(str(name).casefold(), folded, n=1, cutoff=0.5)
    guess = f"did you mean {folded[close[0]]!r}? " if close else ""
    shown = ", ".join(names[:SHOWN_NAMES_MAX]) or "none"
    more = f" and {len(names) - SHOWN_NAMES_MAX} more" if len(names) > SHOWN_NAMES_MAX else ""
    return f"{guess}known: {shown}{more}"
