"""Log and state that write down what succeeded. Everything that leaves no trace in a history passes straight through.

An event is written after the call that it tells of has returned, so a kill in between leaves the event out: a history
may miss the last call of a killed process, and never holds one that did not happen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from gristmill.adapters.recording.events import HistoryRecorder
from gristmill.domain.commit import Commit, CommitOutcome, Committed, RunCommit
from gristmill.domain.log import Delivery, Diagnosis, Lease, NewRecord, Rejected
from gristmill.ports.clock import Clock

__all__ = ["RecordingLog", "RecordingState", "RecordingStore"]


class RecordingLog:
    """Records publish, deliver, accept, release, dead, renew."""

    def __init__(self, log: Any, recorder: HistoryRecorder, clock: Clock) -> None:
        self._log = log
        self._recorder = recorder
        self._clock = clock

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    async def append(self, topic: str, records: Sequence[NewRecord]) -> list[int]:
        offsets: list[int] = await self._log.append(topic, records)
        for offset in offsets:
            self._recorder.record("publish", topic=topic, offset=offset)
        return offsets

    async def claim(self, topic: str, group: str, *, owner: str, limit: int, lease_ms: int) -> list[Delivery]:
        deliveries: list[Delivery] = await self._log.claim(topic, group, owner=owner, limit=limit, lease_ms=lease_ms)
        until_ms = self._clock.now_ms() + lease_ms
        for delivery in deliveries:
            self._note("deliver", delivery.lease, attempt=delivery.attempt, until_ms=until_ms)
        return deliveries

    async def accept(self, leases: Sequence[Lease], *, then: Sequence[tuple[str, NewRecord]] = ()) -> list[bool]:
        asked_at_ms = self._clock.now_ms()
        accepted: list[bool] = await self._log.accept(leases, then=then)
        self._note_each("accept", leases, accepted, asked_at_ms=asked_at_ms)
        return accepted

    async def release(self, leases: Sequence[Lease], *, delay_ms: int = 0, counted: bool = True) -> list[bool]:
        released: list[bool] = await self._log.release(leases, delay_ms=delay_ms, counted=counted)
        self._note_each("release", leases, released)
        return released

    async def renew(self, leases: Sequence[Lease], *, lease_ms: int) -> list[bool]:
        renewed: list[bool] = await self._log.renew(leases, lease_ms=lease_ms)
        self._note_each("renew", leases, renewed, until_ms=self._clock.now_ms() + lease_ms)
        return renewed

    async def reject(self, lease: Lease, diagnosis: Diagnosis) -> Rejected:
        asked_at_ms = self._clock.now_ms()
        rejected: Rejected = await self._log.reject(lease, diagnosis)
        if rejected == "written":
            self._note("dead", lease, asked_at_ms=asked_at_ms)
        return rejected

    def _note_each(self, kind: Any, leases: Sequence[Lease], done: Sequence[bool], **fields: int) -> None:
        for lease, is_done in zip(leases, done, strict=True):
            if is_done:
                self._note(kind, lease, **fields)

    def _note(self, kind: Any, lease: Lease, **fields: int) -> None:
        _note_lease(self._recorder, kind, lease, **fields)


class RecordingState:
    """Records fence, the commit of a run as an effect with the id of the run as key, and its acceptance."""

    def __init__(self, state: Any, recorder: HistoryRecorder, clock: Clock) -> None:
        self._state = state
        self._recorder = recorder
        self._clock = clock

    def __getattr__(self, name: str) -> Any:
        return getattr(self._state, name)

    async def commit(self, commits: Sequence[Commit]) -> list[CommitOutcome]:
        asked_at_ms = self._clock.now_ms()
        outcomes: list[CommitOutcome] = await self._state.commit(commits)
        for commit, outcome in zip(commits, outcomes, strict=True):
            if isinstance(outcome, Committed) and commit.lease is not None:
                self._note_commit(commit, commit.lease, asked_at_ms=asked_at_ms)
        return outcomes

    async def fence(self, leases: Sequence[Lease], *, until_ms: int) -> None:
        await self._state.fence(leases, until_ms=until_ms)
        for lease in leases:
            self._note("fence", lease)

    def _note_commit(self, commit: Commit, lease: Lease, *, asked_at_ms: int) -> None:
        if isinstance(commit, RunCommit) and commit.status != "failed":
            self._note("effect", lease, key=commit.run_id, asked_at_ms=asked_at_ms)
        if not isinstance(commit, RunCommit) or commit.accept:
            self._note("accept", lease, asked_at_ms=asked_at_ms)

    def _note(self, kind: Any, lease: Lease, **fields: int | str) -> None:
        _note_lease(self._recorder, kind, lease, **fields)


class _Closing(Protocol):
    async def close(self) -> None: ...


class RecordingStore:
    """A store whose log and state are recorded."""

    def __init__(self, store: Any, recorder: HistoryRecorder, clock: Clock) -> None:
        self._store: _Closing = store
        self._recorder = recorder
        self.log: Any = RecordingLog(store.log, recorder, clock)
        self.state: Any = RecordingState(store.state, recorder, clock)
        self.cache: Any = store.cache
        recorder.record("boot")
        self.front: Any = store.front

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def close(self) -> None:
        """Close the store, then the history."""
        await self._store.close()
        self._recorder.close()


def _note_lease(recorder: HistoryRecorder, kind: Any, lease: Lease, **fields: int | str) -> None:
    place: dict[str, int | str] = {"topic": lease.topic, "group": lease.group, "offset": lease.offset}
    recorder.record(kind, **place, owner=lease.owner, fence=lease.epoch, **fields)
