"""Spares a server the same question: a group that had nothing to claim still has nothing until a bell rings.

Only while bells can be heard, only for some seconds, and only until a record comes due or a lease ends.
"""

from __future__ import annotations

from collections import Counter

__all__ = ["QuietTopics"]

ASK_AGAIN_MS = 5_000
"""A ring can get lost with its connection; then this is how late a record is found."""


class QuietTopics:
    """Remembers empty answers. Times are of the caller's clock, in milliseconds."""

    def __init__(self) -> None:
        self._rings: Counter[str] = Counter()
        self._rings_of_all = 0
        self._quiet: dict[tuple[str, str], tuple[tuple[int, int], int]] = {}

    def ring(self, topic: str) -> None:
        """Note that a topic may have something."""
        self._rings[topic] += 1

    def ring_all(self) -> None:
        """Note that any topic may have something."""
        self._rings_of_all += 1

    def mark(self, topic: str) -> tuple[int, int]:
        """Return what has been heard so far; to be taken before a question."""
        return self._rings[topic], self._rings_of_all

    def note_empty(self, topic: str, group: str, mark: tuple[int, int], *, now_ms: int, due_in_ms: int) -> None:
        """Note an empty answer; a negative `due_in_ms` says that nothing can be told."""
        if due_in_ms >= 0:
            self._quiet[topic, group] = (mark, now_ms + min(due_in_ms, ASK_AGAIN_MS))

    def is_quiet(self, topic: str, group: str, *, now_ms: int) -> bool:
        """Whether the answer would be empty again."""
        mark, until_ms = self._quiet.get((topic, group), ((-1, -1), 0))
        return now_ms < until_ms and mark == self.mark(topic)
