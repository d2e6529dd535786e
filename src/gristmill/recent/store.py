"""The store of recent items: takes events, answers queries, forgets in time. One writer, in one event loop.

Nothing here waits and nothing is read from a log; `serving` feeds it. It can be used by itself, in any program.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from gristmill.recent.core.admission import admit
from gristmill.recent.core.answer import Answer, ItemRows
from gristmill.recent.core.early import Decision, EarlyDecisions
from gristmill.recent.core.event import EventKind, EventRows, select
from gristmill.recent.core.limits import StoreLimits
from gristmill.recent.core.request import Ids, LatestRequest, bound_request
from gristmill.recent.core.tally import Name, Tally
from gristmill.recent.engine import Engine, Held, NumpyEngine, Sizes

__all__ = ["SWEEP_PARTS", "RecentStore"]

SWEEP_PARTS = 5
"""A sweep looks at one part of all authors."""

ROWS_PER_EXPIRY = 65_536
"""Let go at once at most; some milliseconds."""

DECISIONS: tuple[tuple[EventKind, Name], ...] = (
    (EventKind.HIDE, "hidden"),
    (EventKind.RESTORE, "restored"),
    (EventKind.LABEL, "labelled"),
)
HIDES = {EventKind.HIDE: True, EventKind.RESTORE: False}


def _never() -> bool:
    return False


class RecentStore:
    """Items of all authors of the retention window.

    Args:
        limits: what is kept and answered.
        now_ms: time at which it begins; later times may not be earlier, and are taken as this where they are.
        engine: see `engine.Engine`; numpy if none is given.
        never_serve: authors that no query finds.
    """

    def __init__(
        self,
        limits: StoreLimits | None = None,
        *,
        now_ms: int,
        engine: Engine | None = None,
        never_serve: frozenset[int] = frozenset(),
    ) -> None:
        self.limits = limits or StoreLimits()
        self.tally = Tally()
        self._engine = engine or NumpyEngine(self.limits)
        self._never_serve = never_serve
        self._early = EarlyDecisions(self.limits.early_decisions_max)
        self._now_ms = now_ms
        self._sweeps = 0

    @property
    def engine_name(self) -> str:
        """Which engine holds the items."""
        return self._engine.name

    def apply(self, rows: EventRows, *, now_ms: int) -> None:
        """Take a batch of events, in the order of the log. Creations come first, then deletions, then decisions.

        An undeletion ends a stretch of events to which that applies, so that one id follows the order of the log.
        """
        self._see(now_ms)
        self.tally.read += len(rows)
        is_named = rows["item"] != 0
        self.tally.add("no_id_rejected", int((~is_named).sum()))
        rows = select(rows, is_named)
        start = 0
        for place in np.flatnonzero(rows["kind"] == EventKind.UNDELETE).tolist():
            self._apply_stretch(rows[start:place])
            self._undelete(rows[place : place + 1])
            start = place + 1
        self._apply_stretch(rows[start:])

    def note_faults(self, *, decode_failed: int = 0, unknown_kind: int = 0, empty: int = 0) -> None:
        """Count what was read and is no event."""
        self.tally.read += decode_failed + unknown_kind + empty
        self.tally.add_all([("decode_failed", decode_failed), ("unknown_kind", unknown_kind), ("empty", empty)])

    def latest(
        self, request: LatestRequest, *, now_ms: int, is_over: Callable[[], bool] = _never, stale: bool = False
    ) -> Answer:
        """Return the newest items of authors, newest first, ties by id.

        Args:
            is_over: asked now and then; once true, the answer is what was found so far, marked partial.
            stale: whether newer items are known to wait.
        Raises:
            UsageError: an algorithm that does not exist.
        """
        self._see(now_ms)
        query = bound_request(request, self.limits, now_ms=self._now_ms, never_serve=self._never_serve)
        found = self._engine.latest(query, now_ms=self._now_ms, is_over=is_over)
        return Answer(
            rows=found.rows, partial=found.partial, stale=stale, truncated=query.truncated, visited=found.visited
        )

    def get(self, ids: Ids, *, now_ms: int) -> ItemRows:
        """Return those items that are held, in the order asked for; hidden ones included, and marked."""
        self._see(now_ms)
        return self._engine.get(ids, cutoff_ms=self._cutoff_ms)

    def newest(self, authors: Ids, *, now_ms: int) -> NDArray[np.int64]:
        """Return when each author's newest item was created (UTC epoch milliseconds); 0 where there is none."""
        self._see(now_ms)
        return self._engine.newest(authors, cutoff_ms=self._cutoff_ms)

    def held(self, authors: Ids) -> Held:
        """Return how many items authors hold, until the next sweep also those above the cap."""
        return self._engine.held(authors)

    def sizes(self) -> Sizes:
        """Return what is held; takes no time that grows with it."""
        return self._engine.sizes()

    def expire(self, *, now_ms: int) -> bool:
        """Let go of some of what has expired; return whether there may be more."""
        self._see(now_ms)
        cutoff_ms, rows_max = self._cutoff_ms, ROWS_PER_EXPIRY
        return self._engine.expire(now_ms=self._now_ms, cutoff_ms=cutoff_ms, rows_max=rows_max) >= rows_max

    def sweep(self) -> None:
        """Trim queues over the cap, and forget authors without items, of the next part of all authors."""
        self.tally.add_all(self._engine.sweep(self._sweeps % SWEEP_PARTS, SWEEP_PARTS))
        self._sweeps += 1

    def finalise(self, *, now_ms: int) -> int:
        """Before the first answer: let all go that has expired, and look once more for what was deleted.

        Returns:
            How many deleted items were still held: always 0, since there is one writer.
        """
        while self.expire(now_ms=now_ms):
            pass
        for _ in range(SWEEP_PARTS):
            self.sweep()
        found = self._engine.sweep_deleted(now_ms=self._now_ms)
        self.tally.add("swept_at_finalise", found)
        return found

    @property
    def _cutoff_ms(self) -> int:
        return self._now_ms - self.limits.retention_ms

    def _see(self, now_ms: int) -> None:
        self._now_ms = max(self._now_ms, now_ms)

    def _apply_stretch(self, rows: EventRows) -> None:
        self._insert(select(rows, rows["kind"] == EventKind.CREATE))
        self._delete(select(rows, rows["kind"] == EventKind.DELETE))
        decisions = select(rows, rows["kind"] >= EventKind.HIDE)
        for kind, name in DECISIONS:
            self.tally.add(name, int((decisions["kind"] == kind).sum()))
        for kind, item, bits_set, bits_clear in decisions[["kind", "item", "set", "clear"]].tolist():
            self._decide(EventKind(kind), item, bits_set, bits_clear)

    def _insert(self, rows: EventRows) -> None:
        admitted = admit(rows, self.limits, now_ms=self._now_ms)
        self.tally.add_all([("expired_rejected", admitted.expired), ("future_rejected", admitted.future)])
        items = admitted.rows
        self.tally.add_all(self._engine.insert(items, now_ms=self._now_ms, cutoff_ms=self._cutoff_ms))
        for item, decision in self._early.find(items["item"]):
            if self._carry_out(item, decision):
                self._early.drop(item)

    def _delete(self, rows: EventRows) -> None:
        self.tally.add("deleted", len(rows))
        if not len(rows):
            return
        ids, inverse = np.unique(rows["item"], return_inverse=True)
        expires_ms = np.zeros(len(ids), np.int64)
        np.maximum.at(expires_ms, inverse, np.minimum(rows["at_ms"], self._now_ms) + self.limits.retention_ms)
        removed = self._engine.delete(ids, expires_ms, cutoff_ms=self._cutoff_ms)
        self.tally.add_all(removed.counts)
        for item in removed.hidden.tolist():
            # It may be undeleted, and nobody will hide it again.
            self._remember(item, Decision(hide=True, set=0, clear=0))

    def _undelete(self, rows: EventRows) -> None:
        """Let a deleted item come again; the event carries it whole."""
        self.tally.add("undeleted")
        self._engine.forget_tombstones(rows["item"])
        self._insert(rows)

    def _decide(self, kind: EventKind, item: int, bits_set: int, bits_clear: int) -> None:
        decision = Decision(hide=HIDES.get(kind), set=bits_set, clear=bits_clear)
        if not self._carry_out(item, decision):
            self._remember(item, decision)

    def _carry_out(self, item: int, decision: Decision) -> bool:
        return self._engine.decide(
            item, hide=decision.hide, set=decision.set, clear=decision.clear, cutoff_ms=self._cutoff_ms
        )

    def _remember(self, item: int, decision: Decision) -> None:
        self.tally.add("decisions_forgotten", self._early.note(item, decision))
