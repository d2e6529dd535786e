"""When a store may answer: a state machine over what was read of the log.

    loading ──▶ catching_up ──▶ ready ◀──▶ stale          any ──▶ draining

Ready only once everything up to the end that was seen at the start has been applied (P11). Stale when records are known
to wait and nothing newer than `staleness_ms` has been applied; answers go on, and say so.
"""

from __future__ import annotations

from typing import Literal

__all__ = ["Gate", "GateState"]

GateState = Literal["loading", "catching_up", "ready", "stale", "draining"]


class Gate:
    """One reader of one topic.

    Args:
        staleness_ms: see above.
    """

    def __init__(self, *, staleness_ms: int) -> None:
        self.state: GateState = "loading"
        self.target = 0
        """Records that the log had ever taken when reading began."""
        self.read = 0
        """Records applied by the pass that is under way."""
        self.behind = 0
        """Records that are known to wait."""
        self.newest_ms = 0
        """When the newest record that was applied had been appended (UTC epoch)."""
        self._is_open = False
        self._staleness_ms = staleness_ms
        self._never_read: int | None = None
        self._behind_since_ms: int | None = None

    @property
    def is_open(self) -> bool:
        """Whether queries are answered."""
        return self._is_open

    def on_start(self, *, end: int) -> None:
        """Reading begins; the log has taken `end` records so far."""
        self.state, self.target = "catching_up", end

    def on_records(self, count: int, *, appended_at_ms: int) -> None:
        """Records have been applied, the newest of which was appended at that time."""
        self.read += count
        self.newest_ms = max(self.newest_ms, appended_at_ms)

    def on_caught_up(self) -> None:
        """A pass over all that the log held when it began has ended, and what it read is applied and in order."""
        if self.state == "catching_up":
            self.state, self._is_open = "ready", True

    def on_new_pass(self) -> None:
        """The topic is read from its beginning once more."""
        self.read, self._never_read = 0, None

    def on_look(self, *, end: int, now_ms: int) -> None:
        """The log was asked how many records it has ever taken.

        What was deleted before we came is never read, and nobody tells how much that is: the least difference ever
        seen between what the log took and what was read is taken for it.
        """
        difference = end - self.read
        self._never_read = difference if self._never_read is None else min(self._never_read, difference)
        self.behind = difference - self._never_read
        if not self.behind:
            self._behind_since_ms = None
        elif self._behind_since_ms is None:
            self._behind_since_ms = now_ms
        if self.state in ("ready", "stale"):
            self.state = "stale" if self._is_stale(now_ms) else "ready"

    def on_drain(self) -> None:
        """The process is about to stop: it asks for no more queries, and answers those that come all the same."""
        self.state = "draining"

    def _is_stale(self, now_ms: int) -> bool:
        since_ms = self._behind_since_ms
        return since_ms is not None and now_ms - max(since_ms, self.newest_ms) > self._staleness_ms
