"""Remembers how earlier runs of records failed in this process, for the diagnosis of those that are given up."""

from __future__ import annotations

from collections import OrderedDict

__all__ = ["Failures"]

RECORDS_MAX = 1_000
"""Records whose failures are remembered; the oldest are forgotten, and their diagnosis shows the last failure only."""

PER_RECORD_MAX = 20

Failure = tuple[int, str, str]
"""When, UTC epoch ms; who; the error."""


class Failures:
    """Failures by offset of one topic and group."""

    def __init__(self) -> None:
        self._by_offset: OrderedDict[int, list[Failure]] = OrderedDict()

    def add(self, offset: int, failure: Failure) -> None:
        """Remember a failure."""
        failures = self._by_offset.setdefault(offset, [])
        failures.append(failure)
        del failures[:-PER_RECORD_MAX]
        self._by_offset.move_to_end(offset)
        if len(self._by_offset) > RECORDS_MAX:
            self._by_offset.popitem(last=False)

    def take(self, offset: int) -> tuple[Failure, ...]:
        """Return the failures of a record, oldest first, and forget them."""
        return tuple(self._by_offset.pop(offset, ()))
