"""Who holds which record of one topic for one group: the part of it that this process was assigned.

Kafka hands out partitions, not records. Within the partitions of one process this book gives every record its lease,
its count of attempts and its turn, and tells the trackers of the partitions what is done with. A record is known by its
`origin`, the packed offset at which it first stood in the topic; a copy in a retry topic has the origin of the record
that it stands for, and another place.

    fresh      fetched, never claimed by the group
    held       under lease, or waiting for its time
    behind     with order by key: waits for an earlier record of its key
"""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass, field

from gristmill.adapters.kafka.core.tiers import Ordering
from gristmill.adapters.kafka.core.tracker import OffsetTracker
from gristmill.domain.log import Lease

__all__ = ["Book", "Fetched", "Held", "Partition"]

Partition = tuple[str, int]
"""Name of a Kafka topic and number of the partition."""

ENDED_MAX = 100_000
"""Origins that ended here and are remembered, so that a copy left over from a crash is not run again."""


@dataclass(slots=True)
class Fetched:
    """A record as it came from Kafka.

    Attributes:
        attempt: attempts before this copy was written; 0 for the record itself.
        due_at_ms: not before this time, UTC epoch; 0 for at once.
        is_copy: it stands in a retry topic.
        outbox_id: row of an outbox that it stands for; empty for a copy, whose origin is known.
    """

    partition: Partition
    kafka_offset: int
    origin: int
    value: bytes
    key: str
    headers: dict[str, str]
    appended_at_ms: int
    attempt: int = 0
    generation: int = 0
    due_at_ms: int = 0
    is_copy: bool = False
    outbox_id: str = ""


@dataclass(slots=True)
class Held:
    """A fetched record with what the group has done to it. Without owner it waits until `until_ms`."""

    fetched: Fetched
    attempt: int
    owner: str = ""
    epoch: int = 0
    until_ms: int = 0
    is_fresh: bool = False
    is_behind: bool = False
    is_moving: bool = False
    """A copy of it is being written; whoever comes in first, the copy or the answer, takes its place."""

    def is_live(self, now_ms: int) -> bool:
        """Whether an owner holds it now."""
        return self.owner != "" and self.until_ms > now_ms


@dataclass(slots=True)
class Book:
    """See the module.

    Attributes:
        epoch: of the last claim; those that follow grow from it, so it begins above those of earlier processes.
        is_guarded: every start is committed before its record is handed out. A record without one had no earlier
            holder then, and its first claim gets the epoch 1, which spares the store a fence.
    """

    topic: str
    group: str
    epoch: int
    ordering: Ordering = "none"
    is_guarded: bool = False
    trackers: dict[Partition, OffsetTracker] = field(default_factory=dict)
    records: dict[int, Held] = field(default_factory=dict)
    fresh_bytes: int = 0
    is_fresh_first: bool = False
    _fresh: deque[Held] = field(default_factory=deque)
    _waiting: list[tuple[int, int, int]] = field(default_factory=list)
    _ends: list[tuple[int, int]] = field(default_factory=list)
    _lines: dict[str, deque[int]] = field(default_factory=dict)
    _ended: dict[tuple[int, int], None] = field(default_factory=dict)
    _leaving: set[Partition] = field(default_factory=set)

    def assign(self, partition: Partition, tracker: OffsetTracker) -> None:
        """Begin with a partition."""
        self.trackers[partition] = tracker

    def unassign(self, partition: Partition) -> None:
        """Forget a partition; its leases are lost."""
        self.trackers.pop(partition, None)
        self._leaving.discard(partition)
        for origin in [origin for origin, held in self.records.items() if held.fetched.partition == partition]:
            self._remove(origin, self.records[origin])

    def withdraw(self, partitions: set[Partition]) -> None:
        """Hand out nothing more of these partitions; what is under lease there may still end."""
        self._leaving |= partitions
        for origin, held in list(self.records.items()):
            if held.fetched.partition in partitions and not held.owner:
                self._remove(origin, held)

    def on_fetched(self, fetched: Fetched, *, now_ms: int) -> bool:
        """Take in a fetched record; False if there is nothing to do for it."""
        tracker = self.trackers.get(fetched.partition)
        if tracker is None or fetched.partition in self._leaving or not tracker.on_fetched(fetched.kafka_offset):
            return False
        held = Held(fetched, fetched.attempt + tracker.starts_of(fetched.kafka_offset))
        known = self.records.get(fetched.origin)
        if (fetched.origin, fetched.generation) in self._ended or (known is not None and not _supersedes(held, known)):
            tracker.complete(fetched.kafka_offset)
            return False
        if known is not None:
            self._complete_place(known)
            self._remove(fetched.origin, known)
        self.records[fetched.origin] = held
        self._place(held, now_ms)
        return True

    def claim(self, *, owner: str, limit: int, now_ms: int, until_ms: int) -> list[tuple[Lease, Held]]:
        """Lease records that nobody holds until `until_ms`: due ones and fresh ones, taking turns at being first."""
        if self.is_fresh_first:
            fresh = self._take_fresh(limit)
            due = self._pop_due(now_ms, limit - len(fresh))
        else:
            due = self._pop_due(now_ms, limit)
            fresh = self._take_fresh(limit - len(due))
        self.is_fresh_first = bool(due)
        taken = [*due, *fresh]
        taken.sort(key=lambda held: held.fetched.origin)
        return [self._lease(held, owner, until_ms) for held in taken]

    def unclaim(self, lease: Lease) -> None:
        """Take a claim back that came to nothing; it costs no attempt."""
        self.release(lease, visible_at_ms=0, counted=False)

    def find(self, lease: Lease) -> Held | None:
        """Return the record that a lease stands for, or None when it is no longer exactly this one."""
        held = self.records.get(lease.offset)
        if held is None or (lease.owner, lease.epoch) != (held.owner, held.epoch) or not lease.owner:
            return None
        return held if (lease.topic, lease.group) == (self.topic, self.group) else None

    def end(self, lease: Lease) -> bool:
        """End a record for good."""
        held = self.find(lease)
        if held is None:
            return False
        self._ended[lease.offset, held.fetched.generation] = None
        if len(self._ended) > ENDED_MAX:
            del self._ended[next(iter(self._ended))]
        return self.move(lease)

    def begin_move(self, lease: Lease, *, is_moving: bool = True) -> None:
        """Expect a copy of a record, or no longer."""
        if (held := self.find(lease)) is not None:
            held.is_moving = is_moving

    def move(self, lease: Lease) -> bool:
        """Let go of a record that goes on elsewhere, as a copy; False if the copy came in first."""
        held = self.find(lease)
        if held is None:
            return False
        self._complete_place(held)
        self._remove(lease.offset, held)
        return True

    def release(self, lease: Lease, *, visible_at_ms: int, counted: bool) -> bool:
        """Set a record aside until `visible_at_ms`."""
        held = self.find(lease)
        if held is None:
            return False
        if not counted:
            self._count(held, -1)
        if held.fetched.partition in self._leaving:
            self._remove(lease.offset, held)
        else:
            self._set_aside(held, visible_at_ms)
        return True

    def renew(self, lease: Lease, *, until_ms: int) -> bool:
        """Move the end of a lease."""
        held = self.find(lease)
        if held is None:
            return False
        held.until_ms = until_ms
        heapq.heappush(self._ends, (until_ms, lease.offset))
        return True

    def leased_in(self, partitions: set[Partition]) -> int:
        """Return how many records of these partitions have an owner."""
        return sum(held.owner != "" and held.fetched.partition in partitions for held in self.records.values())

    def tally(self, *, now_ms: int) -> tuple[int, int, int, int]:
        """Return the numbers of fresh records, live leases and waiting records, and the time of the oldest, 0 if none.

        A record that has waited since its append counts as waiting, as one that was released does.
        """
        live = sum(held.is_live(now_ms) for held in self.records.values())
        fresh = sum(held.is_fresh or (held.is_behind and not held.attempt) for held in self.records.values())
        oldest_ms = min((held.fetched.appended_at_ms for held in self.records.values()), default=0)
        return fresh, live, len(self.records) - fresh - live, oldest_ms

    def _place(self, held: Held, now_ms: int) -> None:
        """Put a record where it waits for its turn."""
        fetched = held.fetched
        if self.ordering == "key" and fetched.key:
            line = self._lines.setdefault(fetched.key, deque())
            line.append(fetched.origin)
            if len(line) > 1:
                held.is_behind = True
                return
        self._queue(held, now_ms)

    def _queue(self, held: Held, now_ms: int) -> None:
        fetched = held.fetched
        if fetched.due_at_ms > now_ms or fetched.is_copy or held.attempt:
            self._set_aside(held, fetched.due_at_ms)
        else:
            held.is_fresh = True
            self.fresh_bytes += len(fetched.value)
            self._fresh.append(held)

    def _take_fresh(self, limit: int) -> list[Held]:
        taken: list[Held] = []
        while self._fresh and len(taken) < limit:
            held = self._fresh.popleft()
            if held.is_fresh:
                self._leave_fresh(held)
                taken.append(held)
        return taken

    def _pop_due(self, now_ms: int, limit: int) -> list[Held]:
        while self._ends and self._ends[0][0] <= now_ms:
            until_ms, origin = heapq.heappop(self._ends)
            held = self.records.get(origin)
            # The heap may hold what was renewed, released or ended since; the owner keeps it until another claims.
            if held is not None and held.owner and held.until_ms == until_ms:
                heapq.heappush(self._waiting, (until_ms, origin, held.epoch))
        due: dict[int, Held] = {}
        while self._waiting and len(due) < limit and self._waiting[0][0] <= now_ms:
            until_ms, origin, epoch = heapq.heappop(self._waiting)
            held = self.records.get(origin)
            if held is not None and (held.until_ms, held.epoch) == (until_ms, epoch):
                due[origin] = held
        return list(due.values())

    def _lease(self, held: Held, owner: str, until_ms: int) -> tuple[Lease, Held]:
        is_first = self.is_guarded and not (held.epoch or held.attempt or held.fetched.is_copy)
        if not is_first:
            self.epoch += 1
        held.owner, held.epoch, held.until_ms = owner, 1 if is_first else self.epoch, until_ms
        self._count(held, 1)
        heapq.heappush(self._ends, (until_ms, held.fetched.origin))
        return Lease(self.topic, self.group, held.fetched.origin, owner, held.epoch), held

    def _count(self, held: Held, change: int) -> None:
        """Count an attempt where the next owner of the partition will find it."""
        held.attempt += change
        tracker = self.trackers[held.fetched.partition]
        tracker.set_starts(held.fetched.kafka_offset, held.attempt - held.fetched.attempt)

    def _set_aside(self, held: Held, visible_at_ms: int) -> None:
        held.owner, held.until_ms = "", visible_at_ms
        heapq.heappush(self._waiting, (visible_at_ms, held.fetched.origin, held.epoch))

    def _complete_place(self, held: Held) -> None:
        self.trackers[held.fetched.partition].complete(held.fetched.kafka_offset)

    def _remove(self, origin: int, held: Held) -> None:
        del self.records[origin]
        if held.is_fresh:
            self._leave_fresh(held)
        held.owner = ""
        if self.ordering == "key" and held.fetched.key:
            self._step_up(held.fetched.key, origin)

    def _step_up(self, key: str, origin: int) -> None:
        """Take a record out of the line of its key; whoever is first then has its turn."""
        line = self._lines[key]
        was_first = line[0] == origin
        line.remove(origin)
        if not line:
            del self._lines[key]
        elif was_first:
            first = self.records[line[0]]
            first.is_behind = False
            self._queue(first, now_ms=0)

    def _leave_fresh(self, held: Held) -> None:
        held.is_fresh = False
        self.fresh_bytes -= len(held.fetched.value)


def _supersedes(new: Held, known: Held) -> bool:
    """Whether a copy of the same record is the later one; nobody's lease is taken away for it."""
    if known.is_moving and new.fetched.is_copy:
        return True
    if known.owner:
        return False
    return (new.fetched.generation, new.attempt) > (known.fetched.generation, known.attempt)
