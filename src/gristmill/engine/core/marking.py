"""Where one Run stands in its graph, and which tasks are to be called next.

Events go in (`start`, then one `on_*` for each task that was asked for), commands come out: indexes of the nodes
to be called now, in the order in which to call them. The Run is over when every node asked for has been answered;
then `verdict` says how it went. Nodes that were not asked for by then were not started.

Rules, in short:

- A node is asked for once all its predecessors have ended. See `layout` for what their ends mean to it.
- A failure (`on_error='fail'`) closes the Run: nothing more is asked for.
- An `End` closes the Run as a success: only nodes marked `finally_` are still asked for. Tasks that run at that
  moment are awaited; their failure is on record but decides nothing, unless they are `finally_` themselves.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from gristmill.domain.errors import InvariantBroken
from gristmill.domain.run import RunStatus, TaskStatus
from gristmill.engine.core.layout import FREE, GATED, Layout

__all__ = ["Marking", "NodeState", "Verdict"]

NodeState = Literal[
    "waiting", "running", "done", "skipped", "skipped_by_gate", "bypassed", "failed_open", "ended", "failed", "dropped"
]
"""`dropped`: the Run ended before its turn. `ended`: it returned `End`, so it has no result."""

_STATUS: dict[NodeState, TaskStatus] = {
    "waiting": "not_started",
    "running": "not_started",
    "done": "done",
    "skipped": "skipped",
    "skipped_by_gate": "skipped",
    "bypassed": "bypassed",
    "failed_open": "bypassed",
    "ended": "done",
    "failed": "failed",
    "dropped": "not_started",
}


class Verdict(msgspec.Struct, frozen=True, gc=False):
    """How a Run ended. `error` holds the text of every failure that decided it, the first one leading."""

    status: RunStatus
    reason: str = ""
    error: str = ""
    error_class: str = ""
    failed_task: str = ""


class Marking:
    """States of all nodes of one Run. No IO, no clock."""

    __slots__ = (
        "_blocked",
        "_blocker",
        "_end",
        "_failures",
        "_is_rough",
        "_layout",
        "_open",
        "_reasons",
        "_successors",
        "is_closed",
        "states",
    )

    def __init__(self, layout: Layout) -> None:
        count = len(layout.names)
        self._layout = layout
        self._successors = layout.successors
        self.states: list[NodeState] = ["waiting"] * count
        self._open = layout.open_counts.copy()
        self._blocked = [FREE] * count
        self._blocker: dict[int, int] = {}
        self._reasons: dict[int, str] = {}
        self._is_rough = False
        self.is_closed = False
        self._end: tuple[RunStatus, str] | None = None
        self._failures: list[tuple[int, str, str]] = []

    def start(self) -> list[int]:
        """Return the nodes to be called first."""
        for index in self._layout.roots:
            self.states[index] = "running"
        return list(self._layout.roots)

    def on_done(self, index: int) -> list[int]:
        """The node has what its successors wait for.

        This is the hot path. While nothing was skipped and nothing closed the Run, no successor can be blocked, and
        counting down is all there is to do.
        """
        states, open_counts = self.states, self._open
        states[index] = "done"
        if self._is_rough:
            return self._spread(index)
        ready: list[int] = []
        for successor in self._successors[index]:
            left = open_counts[successor] - 1
            if left:
                open_counts[successor] = left
            else:
                states[successor] = "running"
                ready.append(successor)
        return ready

    def on_skip(self, index: int, reason: str) -> list[int]:
        """The node skipped itself."""
        return self._end_without_result(index, "skipped", reason)

    def on_end(self, index: int, state: str, reason: str) -> list[int]:
        """The node ended the Run as a success."""
        return self._close(index, "ended", state, reason)

    def on_failed(self, index: int, text: str, error_class: str) -> list[int]:
        """The node failed for good; what that means, its `on_error` says."""
        on_error, _, state = self._layout.on_errors[index].partition(":")
        match on_error:
            case "skip":
                return self._end_without_result(index, "bypassed", text)
            case "fail_open":
                return self._end_without_result(index, "failed_open", text)
            case "fail_closed":
                return self._close(index, "failed", state or "rejected", text)
        if self._end is not None and not self._layout.finally_[index]:
            return self._end_without_result(index, "failed", text)
        self.states[index] = "failed"
        self._reasons[index] = text
        self._failures.append((index, text, error_class))
        self._is_rough = self.is_closed = True
        return []

    def on_withdrawn(self, index: int) -> list[int]:
        """The node was asked for, but the Run was closed before it was called, and it was not called."""
        self.states[index] = "dropped"
        return self._spread(index)

    def wants(self, index: int) -> bool:
        """Return whether a node asked for should be called (again): not when the Run can do without it."""
        return not self.is_closed or (not self._failures and self._layout.finally_[index])

    def status_of(self, index: int) -> TaskStatus:
        """Return the status to report for a node."""
        return _STATUS[self.states[index]]

    def reason_of(self, index: int) -> str:
        """Return why a node is not simply done; for a skip that reached it, the root of that skip."""
        if index in self._reasons:
            return self._reasons[index]
        if self.states[index] not in ("skipped", "skipped_by_gate"):
            return ""
        root = index
        while root in self._blocker:
            root = self._blocker[root]
        reason = self._reasons.get(root, "")
        return f"{self._layout.names[root]}: {reason}" if reason else f"no result of {self._layout.names[root]}"

    def verdict(self) -> Verdict:
        """Return how the Run ended.

        Raises:
            InvariantBroken: a node that was asked for has not been answered.
        """
        if "running" in self.states:
            name = self._layout.names[self.states.index("running")]
            raise InvariantBroken("a Run was ended while one of its tasks runs", value=name)
        if self._failures:
            first, _, error_class = self._failures[0]
            error = "; ".join(text for _, text, _ in self._failures)
            return Verdict("failed", "", error, error_class, self._layout.names[first])
        if self._end is not None:
            return Verdict(*self._end)
        if "done" in self.states:
            return Verdict("done")
        return Verdict("skipped", self._first_reason())

    def _first_reason(self) -> str:
        return next((self._reasons[index] for index in range(len(self.states)) if index in self._reasons), "")

    def _end_without_result(self, index: int, state: NodeState, reason: str) -> list[int]:
        self.states[index] = state
        self._reasons[index] = reason
        self._is_rough = True
        return self._spread(index)

    def _close(self, index: int, node_state: NodeState, state: str, reason: str) -> list[int]:
        """End the Run as a success, unless it is closed already; then the node just has no result."""
        if self.is_closed:
            return self._end_without_result(index, node_state, reason)
        name = self._layout.names[index]
        told = f"{name} failed closed: {reason}" if node_state == "failed" else reason
        self._end = ("rejected", told) if state == "rejected" else ("done", f"{state}: {told}")
        self.is_closed = True
        waiting = [i for i, node in enumerate(self.states) if node == "waiting" and not self._layout.finally_[i]]
        for dropped in waiting:
            self.states[dropped] = "dropped"
        ready = self._end_without_result(index, node_state, reason)
        for dropped in waiting:
            ready += self._spread(dropped)
        return ready

    def _spread(self, start: int) -> list[int]:
        """Tell the successors of a node how it ended, and theirs where that skips them."""
        ready: list[int] = []
        todo = [start]
        for index in todo:
            state = self.states[index]
            for edge in self._layout.edges[index]:
                successor = edge.successor
                if state == "done":
                    effect = FREE
                elif state == "skipped_by_gate":
                    effect = edge.gated
                elif state in ("skipped", "bypassed"):
                    effect = edge.skipped
                else:
                    effect = edge.missing
                if effect > self._blocked[successor]:
                    self._blocked[successor] = effect
                    self._blocker[successor] = index
                self._open[successor] -= 1
                if not self._open[successor]:
                    self._settle(successor, ready, todo)
        return ready

    def _settle(self, index: int, ready: list[int], skipped: list[int]) -> None:
        """All predecessors of a node have ended: ask for it, skip it, or leave it."""
        if self.states[index] != "waiting" or self._failures:
            return
        blocked = self._blocked[index]
        if not blocked:
            self.states[index] = "running"
            ready.append(index)
            return
        self.states[index] = "skipped_by_gate" if blocked == GATED else "skipped"
        skipped.append(index)
