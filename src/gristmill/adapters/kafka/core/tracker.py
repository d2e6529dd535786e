"""Completion out of order over one partition, of which Kafka remembers only one offset and a little text.

    below `base`          complete; what is committed as the group's offset
    `base` .. `end - 1`   fetched: open (fetched or in flight) or complete
    from `end` on         not fetched yet; some of it may be known to be complete from the last owner

Offsets that are never seen (compaction, markers of transactions) count as complete as soon as a later one is fetched.
The text beside the committed offset tells what is complete above `base` and how often each open record was started, so
that the next owner repeats little and counts on, however this process ended.
"""

from __future__ import annotations

from gristmill.adapters.kafka.core.metadata import Progress, decode_progress, encode_progress
from gristmill.domain.errors import InvariantBroken

__all__ = ["OffsetTracker", "WINDOW"]

WINDOW = 10_000
"""Most offsets between `base` and `end`; beyond it the partition pauses. Two bitsets of it fit beside an offset."""


class OffsetTracker:
    """The offsets of one partition as this owner knows them."""

    def __init__(self, base: int, metadata: str = "") -> None:
        """Go on where a committed offset and its text say."""
        progress = decode_progress(metadata)
        self.base = base
        self.end = base
        self._open: set[int] = set()
        self._known = {base + relative for relative in progress.complete}
        self._starts = {base + relative: starts for relative, starts in progress.starts.items()}
        self.completed_count = 0
        """Completions so far; for whoever decides when to commit."""

    @property
    def open_count(self) -> int:
        """Fetched records that are not complete."""
        return len(self._open)

    @property
    def is_full(self) -> bool:
        """Whether nothing more should be fetched before `base` moves on."""
        return self.end - self.base >= WINDOW

    def on_fetched(self, offset: int) -> bool:
        """Take note of a fetched offset; False if it is to be left alone, being complete or fetched before."""
        if offset < self.end:
            return False
        if (self._known or self._starts) and offset > self.end:
            self._forget(range(self.end, offset))
        self.end = offset + 1
        is_new = offset not in self._known
        if is_new:
            self._open.add(offset)
        else:
            self._known.discard(offset)
        self._advance()
        return is_new

    def starts_of(self, offset: int) -> int:
        """Return how often the record was started, as far as it counts."""
        return self._starts.get(offset, 0)

    def set_starts(self, offset: int, starts: int) -> None:
        """Remember how often an open record was started."""
        if offset not in self._open:
            raise InvariantBroken("start of a record that is not open", value=offset)
        if starts:
            self._starts[offset] = starts
        else:
            self._starts.pop(offset, None)

    def complete(self, offset: int) -> bool:
        """Take note that a record is done with; False if it was before."""
        if offset not in self._open:
            return False
        self._open.discard(offset)
        self._starts.pop(offset, None)
        self.completed_count += 1
        self._advance()
        return True

    def progress(self) -> Progress:
        """Return what is known above `base`, relative to it."""
        base = self.base
        complete = set(range(base, self.end)).difference(self._open).union(self._known)
        starts = {offset - base: starts for offset, starts in self._starts.items()}
        return Progress({offset - base for offset in complete}, starts)

    def to_commit(self) -> tuple[int, str, int]:
        """Return the offset to commit, its text, and how many facts had to be left out of it."""
        text, left_out = encode_progress(self.progress())
        return self.base, text, left_out

    def _advance(self) -> None:
        base = self.base
        while base < self.end and base not in self._open:
            base += 1
        self.base = base

    def _forget(self, vanished: range) -> None:
        """Drop what the last owner knew about offsets that the partition holds no longer."""
        self._known.difference_update(vanished)
        for offset in [offset for offset in self._starts if offset in vanished]:
            del self._starts[offset]
