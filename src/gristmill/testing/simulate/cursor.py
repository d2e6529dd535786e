"""How far a group has come on a topic, as a log would remember it that keeps one offset and a little text for each.

Nothing in a simulation depends on it: the offsets that are committed are written down, and each new dispatcher begins
where the last commit says. Whatever that would leave out is written down as committed too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

__all__ = ["Cursor", "Tracker"]

COMPLETIONS_PER_COMMIT = 3


class Tracker(Protocol):
    """What is asked of a tracker; see `adapters.kafka.core.tracker`."""

    def on_fetched(self, offset: int) -> bool: ...

    def complete(self, offset: int) -> bool: ...

    def to_commit(self) -> tuple[int, str, int]: ...


class Cursor:
    """Progress of one group on one topic.

    Args:
        make_tracker: makes a tracker of a committed offset and the text beside it.
        commit: is told the highest offset that counts as done with all before it.
    """

    def __init__(self, make_tracker: Callable[[int, str], Tracker], commit: Callable[[int], None]) -> None:
        self._make_tracker = make_tracker
        self._commit = commit
        self._tracker = make_tracker(0, "")
        self._committed: tuple[int, str] = (0, "")
        self._fetched: list[int] = []
        self._open: set[int] = set()
        self._completions = 0

    def on_delivered(self, offset: int) -> None:
        """Take note of a record that was handed out, in the order of offsets or again."""
        if not self._fetched or offset > self._fetched[-1]:
            self._fetched.append(offset)
            self._open.add(offset)
            self._tracker.on_fetched(offset)

    def on_ended(self, offset: int) -> None:
        """Take note of a record that is done with, and commit now and then."""
        self._open.discard(offset)
        self._tracker.complete(offset)
        self._completions += 1
        if self._completions % COMPLETIONS_PER_COMMIT == 0:
            base, text, _ = self._tracker.to_commit()
            self._committed = (base, text)
            self._commit(base - 1)

    def hand_over(self) -> None:
        """Have the next owner begin where the last commit says."""
        base, text = self._committed
        self._tracker = self._make_tracker(base, text)
        for offset in self._fetched:
            if offset < base:
                continue
            is_to_do = self._tracker.on_fetched(offset)
            if not is_to_do and offset in self._open:
                self._commit(offset)
            if is_to_do and offset not in self._open:
                # Delivered once more; a state that knows its results leaves it out.
                self._tracker.complete(offset)
