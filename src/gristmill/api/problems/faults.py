"""Turns what the mapping of a record found wrong into faults of a problem."""

from __future__ import annotations

from collections.abc import Iterable

from gristmill.api.problems.catalogue import Fault

__all__ = ["read_faults"]

WHOLE = "record"


def read_faults(texts: Iterable[str]) -> list[Fault]:
    """Return violations such as `author.name: expected text` as pointers with messages; `record` is the whole."""
    return [_read(text) for text in texts]


def _read(text: str) -> Fault:
    place, colon, message = text.partition(": ")
    if not colon:
        return Fault("", text)
    return Fault("" if place == WHOLE else "/" + place.replace(".", "/"), message)
