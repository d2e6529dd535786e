"""Log and state in memory that write down what they do, in the very step in which they do it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gristmill.adapters.memory import MemoryLog
from gristmill.adapters.recording.events import EventKind, HistoryEvent
from gristmill.domain.commit import Commit, CommitOutcome, Committed, RunCommit
from gristmill.domain.log import Delivery, Diagnosis, Lease, NewRecord, Rejected
from gristmill.engine.settings import is_recovery_topic
from gristmill.testing.simulate.cursor import Cursor, Tracker
from gristmill.testing.simulate.machine.loop import SimulationLoop

__all__ = ["History", "RecordedLog", "RecordedState"]

Place = tuple[str, str, int]


class History:
    """What has happened, in order, in the time of the loop. Counts for itself how often each record was tried."""

    def __init__(self, loop: SimulationLoop, *, lease_ms: int, make_tracker: Callable[[int, str], Tracker]) -> None:
        self.events: list[HistoryEvent] = []
        self.tries: dict[Place, int] = {}
        """Deliveries of each record that count, by what was done with them and not by what the log says."""
        self.tries_under: dict[Lease, int] = {}
        """The same when each lease was given: a dispatcher may be late to hand out what it has long lost."""
        self.has_steady_time = True
        """Whether a lease ends when it was said to: no wall was set."""
        self._loop = loop
        self._lease_ms = lease_ms
        self._holders: dict[Place, str] = {}
        self._make_tracker = make_tracker
        self._cursors: dict[tuple[str, str], Cursor] = {}

    def note(self, kind: EventKind, lease: Lease, **fields: Any) -> None:
        """Write down what was done under a lease."""
        self.events.append(
            HistoryEvent(
                kind=kind,
                at_ms=self._loop.now_us // 1_000,
                topic=lease.topic,
                group=lease.group,
                offset=lease.offset,
                owner=lease.owner,
                fence=lease.epoch,
                **fields,
            )
        )
        if kind in ("accept", "release", "dead"):
            self._holders.pop((lease.topic, lease.group, lease.offset), None)
        if kind in ("accept", "dead") and not is_recovery_topic(lease.topic):
            self._cursor(lease).on_ended(lease.offset)

    def note_publish(self, topic: str, offset: int) -> None:
        """Write down a new record."""
        self.events.append(HistoryEvent(kind="publish", at_ms=self._loop.now_us // 1_000, topic=topic, offset=offset))

    def note_process(self, kind: EventKind, owner: str) -> None:
        """Write down the start or the death of a process."""
        self.events.append(HistoryEvent(kind=kind, at_ms=self._loop.now_us // 1_000, owner=owner, process=owner))

    def note_delivery(self, delivery: Delivery) -> None:
        """Write down that a record was leased, and that it was taken from somebody if it was."""
        lease = delivery.lease
        place = (lease.topic, lease.group, lease.offset)
        before = self._holders.get(place)
        if before is not None and self.has_steady_time:
            self.note("expire", Lease(*place, before, 0))
        self._holders[place] = lease.owner
        self.tries[place] = self.tries_under[lease] = self.tries.get(place, 0) + 1
        self.note("deliver", lease, attempt=delivery.attempt, until_ms=self._loop.now_us // 1_000 + self._lease_ms)
        if not is_recovery_topic(lease.topic):
            # Those of a recovery topic come as they fall due, which is not the order of a partition.
            self._cursor(lease).on_delivered(lease.offset)

    def note_renewal(self, lease: Lease) -> None:
        """Write down that a lease goes on."""
        self.note("renew", lease, until_ms=self._loop.now_us // 1_000 + self._lease_ms)

    def hand_over(self) -> None:
        """Have somebody else go on with every topic."""
        for cursor in self._cursors.values():
            cursor.hand_over()

    def free(self, owner: str, *, marked: frozenset[int] | None) -> None:
        """Take note that the leases of a dead owner are free; those that it was not working on count no longer."""
        for place in [place for place, holder in self._holders.items() if holder == owner]:
            del self._holders[place]
            self.tries[place] -= 0 if marked is None or place[2] in marked else 1

    def _cursor(self, lease: Lease) -> Cursor:
        place = (lease.topic, lease.group)
        if place not in self._cursors:

            def commit(offset: int) -> None:
                self.note("commit", Lease(*place, offset, "", 0))

            self._cursors[place] = Cursor(self._make_tracker, commit)
        return self._cursors[place]


class RecordedLog:
    """Passes on to a log and writes down what it answers."""

    def __init__(self, log: Any, memory: MemoryLog, history: History) -> None:
        self._log = log
        self._memory = memory
        self._history = history

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    async def append(self, topic: str, records: Sequence[NewRecord]) -> list[int]:
        offsets: list[int] = await self._log.append(topic, records)
        for offset in offsets:
            self._history.note_publish(topic, offset)
        return offsets

    async def claim(self, topic: str, group: str, *, owner: str, limit: int, lease_ms: int) -> list[Delivery]:
        deliveries: list[Delivery] = await self._log.claim(topic, group, owner=owner, limit=limit, lease_ms=lease_ms)
        for delivery in deliveries:
            self._history.note_delivery(delivery)
        return deliveries

    async def accept(self, leases: Sequence[Lease], *, then: Sequence[tuple[str, NewRecord]] = ()) -> list[bool]:
        before = {topic: self._end(topic) for topic, _ in then}
        accepted: list[bool] = await self._log.accept(leases, then=then)
        for topic, end in before.items():
            for offset in self._memory.ledger.topics[topic].offsets[end:] if all(accepted) else ():
                self._history.note_publish(topic, offset)
        self._note_each("accept", leases, accepted)
        return accepted

    async def release(self, leases: Sequence[Lease], *, delay_ms: int = 0, counted: bool = True) -> list[bool]:
        released: list[bool] = await self._log.release(leases, delay_ms=delay_ms, counted=counted)
        self._note_each("release", leases, released)
        for lease, is_released in zip(leases, released, strict=True):
            if is_released and not counted:
                self._history.tries[lease.topic, lease.group, lease.offset] -= 1
        return released

    async def renew(self, leases: Sequence[Lease], *, lease_ms: int) -> list[bool]:
        renewed: list[bool] = await self._log.renew(leases, lease_ms=lease_ms)
        for lease, is_renewed in zip(leases, renewed, strict=True):
            if is_renewed:
                self._history.note_renewal(lease)
        return renewed

    async def reject(self, lease: Lease, diagnosis: Diagnosis) -> Rejected:
        rejected: Rejected = await self._log.reject(lease, diagnosis)
        if rejected == "written":
            self._history.note("dead", lease, key=diagnosis.error_class)
        return rejected

    async def reclaim(self, *, me: str) -> int:
        dead = {owner: marked for owner, marked in self._memory._dead_owners.items() if owner != me}
        count: int = await self._log.reclaim(me=me)
        for owner, marked in dead.items():
            self._history.free(owner, marked=marked)
        return count

    def _end(self, topic: str) -> int:
        state = self._memory.ledger.topics.get(topic)
        return len(state.offsets) if state else 0

    def _note_each(self, kind: EventKind, leases: Sequence[Lease], done: Sequence[bool]) -> None:
        for lease, is_done in zip(leases, done, strict=True):
            if is_done:
                self._history.note(kind, lease)


class RecordedState:
    """Passes on to a state and writes down what was committed. The same write of the same holder again is no news."""

    def __init__(self, state: Any, history: History) -> None:
        self._state = state
        self._history = history
        self._written: set[tuple[str, Lease]] = set()
        self._accepts: bool = "shares_log" in state.capabilities

    def __getattr__(self, name: str) -> Any:
        return getattr(self._state, name)

    async def commit(self, commits: Sequence[Commit]) -> list[CommitOutcome]:
        outcomes: list[CommitOutcome] = await self._state.commit(commits)
        for commit, outcome in zip(commits, outcomes, strict=True):
            if isinstance(outcome, Committed) and commit.lease is not None:
                self._note(commit, commit.lease)
        return outcomes

    async def fence(self, leases: Sequence[Lease], *, until_ms: int) -> None:
        await self._state.fence(leases, until_ms=until_ms)
        for lease in leases:
            self._history.note("fence", lease)

    def _note(self, commit: Commit, lease: Lease) -> None:
        if isinstance(commit, RunCommit):
            if commit.status != "failed" and (commit.run_id, lease) not in self._written:
                self._written.add((commit.run_id, lease))
                self._history.note("effect", lease, key=commit.run_id)
            is_accepted = commit.accept
        else:
            # No effect that could be there twice: the entry of a place is one, whoever writes it.
            is_accepted = True
        if self._accepts and is_accepted:
            self._history.note("accept", lease)
