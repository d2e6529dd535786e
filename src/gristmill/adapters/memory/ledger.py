"""Who holds which record of which topic for which group: the log as plain data, without clock or waiting.

Every group has a cursor over the topic; records behind it are either held (leased or set aside) or accepted.
"""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from gristmill.domain.log import NEVER_MS, Delivery, Hold, Lease, NewRecord

__all__ = ["GroupState", "Held", "Ledger", "Placed", "TopicState"]


@dataclass(slots=True)
class Placed:
    """A record with its place. `due_at_ms` is 0 unless it was appended with a delay."""

    offset: int
    record: NewRecord
    appended_at_ms: int
    due_at_ms: int


@dataclass(slots=True)
class Held:
    """A record that a group has passed and not accepted; without owner it waits until `visible_at_ms`."""

    owner: str
    epoch: int
    attempt: int
    visible_at_ms: int
    generation: int = 0

    def is_live(self, now_ms: int) -> bool:
        """Whether an owner holds it now."""
        return self.owner != "" and self.visible_at_ms > now_ms


@dataclass(slots=True)
class GroupState:
    """Progress of one group. `earliest_end_ms` is never above the end of any lease."""

    cursor: int = 0
    held: dict[int, Held] = field(default_factory=dict)
    waiting: list[tuple[int, int]] = field(default_factory=list)
    earliest_end_ms: int = NEVER_MS
    is_fresh_first: bool = False

    def set_aside(self, offset: int, held: Held) -> None:
        """Hold a record without owner until `held.visible_at_ms`."""
        held.owner = ""
        self.held[offset] = held
        heapq.heappush(self.waiting, (held.visible_at_ms, offset))

    def pop_due(self, *, now_ms: int, limit: int) -> list[int]:
        """Return offsets that wait no longer or whose lease is over, in the order they came due."""
        if now_ms >= self.earliest_end_ms:
            self._set_aside_ended(now_ms)
        due: dict[int, None] = {}
        while self.waiting and len(due) < limit and self.waiting[0][0] <= now_ms:
            visible_at_ms, offset = heapq.heappop(self.waiting)
            held = self.held.get(offset)
            # The heap may hold what was renewed, accepted or queued twice since.
            if held is not None and held.visible_at_ms == visible_at_ms:
                due[offset] = None
        return list(due)

    def _set_aside_ended(self, now_ms: int) -> None:
        """Queue every lease that is over; its owner still owns it until somebody else claims it."""
        for offset, held in self.held.items():
            if held.owner and held.visible_at_ms <= now_ms:
                heapq.heappush(self.waiting, (held.visible_at_ms, offset))
        live = (held.visible_at_ms for held in self.held.values() if held.is_live(now_ms))
        self.earliest_end_ms = min(live, default=NEVER_MS)


@dataclass(slots=True)
class TopicState:
    """Records of one topic in append order, and its groups."""

    record_count: int = 0
    offsets: list[int] = field(default_factory=list)
    records: dict[int, Placed] = field(default_factory=dict)
    groups: dict[str, GroupState] = field(default_factory=dict)

    def after(self, offset: int) -> Iterator[Placed]:
        """Yield records with a higher offset, oldest first."""
        for index in range(bisect_right(self.offsets, offset), len(self.offsets)):
            yield self.records[self.offsets[index]]


class Ledger:
    """All topics of one log. Times are handed in; every method is one step that nothing interrupts."""

    def __init__(self) -> None:
        self.topics: dict[str, TopicState] = {}
        self._next_offset = 1

    def append(self, topic: str, records: Sequence[NewRecord], *, now_ms: int) -> list[int]:
        """Add records and return their offsets."""
        state = self.topics.setdefault(topic, TopicState())
        first = self._next_offset
        for record in records:
            due_at_ms = record.due_at_ms if record.due_at_ms > now_ms else 0
            state.offsets.append(self._next_offset)
            state.records[self._next_offset] = Placed(self._next_offset, record, now_ms, due_at_ms)
            self._next_offset += 1
        state.record_count += len(records)
        return list(range(first, self._next_offset))

    def claim(self, topic: str, group: str, *, owner: str, limit: int, now_ms: int, until_ms: int) -> list[Delivery]:
        """Lease records that nobody holds until `until_ms`: due ones and fresh ones, taking turns at being first."""
        state = self.topics.get(topic)
        if state is None:
            return []
        progress = state.groups.setdefault(group, GroupState())
        if progress.is_fresh_first:
            fresh = self._take_fresh(state, progress, limit=limit, now_ms=now_ms)
            due = progress.pop_due(now_ms=now_ms, limit=limit - len(fresh))
        else:
            due = progress.pop_due(now_ms=now_ms, limit=limit)
            fresh = self._take_fresh(state, progress, limit=limit - len(due), now_ms=now_ms)
        progress.is_fresh_first = bool(due)
        progress.earliest_end_ms = min(progress.earliest_end_ms, until_ms)
        return [
            self._lease(state, Lease(topic, group, offset, owner, progress.held[offset].epoch + 1), until_ms)
            for offset in sorted([*due, *fresh])
        ]

    def find(self, lease: Lease) -> Held | None:
        """Return the hold that a lease stands for, or None when it is no longer exactly this one."""
        group = self.group_of(lease.topic, lease.group)
        held = group.held.get(lease.offset) if group else None
        return held if held and held.owner == lease.owner and held.epoch == lease.epoch else None

    def accept(self, lease: Lease) -> bool:
        """End a record for good if the lease still holds."""
        if self.find(lease) is None:
            return False
        del self.topics[lease.topic].groups[lease.group].held[lease.offset]
        return True

    def release(self, lease: Lease, *, visible_at_ms: int, is_counted: bool) -> bool:
        """Set a record aside if the lease still holds."""
        held = self.find(lease)
        if held is None:
            return False
        held.attempt -= 0 if is_counted else 1
        held.visible_at_ms = visible_at_ms
        self.topics[lease.topic].groups[lease.group].set_aside(lease.offset, held)
        return True

    def renew(self, lease: Lease, *, until_ms: int) -> bool:
        """Move the end of a lease that still holds."""
        held = self.find(lease)
        if held is None:
            return False
        held.visible_at_ms = until_ms
        group = self.topics[lease.topic].groups[lease.group]
        group.earliest_end_ms = min(group.earliest_end_ms, until_ms)
        return True

    def free_owner(self, owner: str, *, marked: frozenset[int] | None) -> list[str]:
        """Free every lease of an owner; return the topic of each record that became claimable."""
        freed: list[str] = []
        for topic, state in self.topics.items():
            for group in state.groups.values():
                for offset in [offset for offset, held in group.held.items() if held.owner == owner]:
                    held = group.held[offset]
                    held.attempt -= 0 if marked is None or offset in marked else 1
                    held.visible_at_ms = 0
                    group.set_aside(offset, held)
                    freed.append(topic)
        return freed

    def hold_of(self, topic: str, group: str, offset: int) -> Hold | None:
        """Return where a record stands for a group, None where the group is done with it or it is gone."""
        state = self.topics.get(topic)
        progress = state.groups.get(group) if state else None
        if state is None or offset not in state.records:
            return None
        if progress is None or offset > progress.cursor:
            return Hold("", 0, state.records[offset].due_at_ms)
        held = progress.held.get(offset)
        return None if held is None else Hold(held.owner, held.attempt, held.visible_at_ms)

    def has_open_before(self, topic: str, group: str, *, key: str, offset: int) -> bool:
        """Whether a group that has claimed before holds an earlier record of this key."""
        state = self.topics[topic]
        held = state.groups[group].held
        return any(other < offset and state.records[other].record.key == key for other in held)

    def group_of(self, topic: str, group: str) -> GroupState | None:
        """Return the progress of a group that has claimed before."""
        state = self.topics.get(topic)
        return state.groups.get(group) if state else None

    def _take_fresh(self, state: TopicState, group: GroupState, *, limit: int, now_ms: int) -> list[int]:
        taken: list[int] = []
        if limit <= 0:
            return taken
        for placed in state.after(group.cursor):
            group.cursor = placed.offset
            if placed.due_at_ms > now_ms:
                group.set_aside(placed.offset, Held("", 0, 0, placed.due_at_ms))
                continue
            group.held[placed.offset] = Held("", 0, 0, 0)
            taken.append(placed.offset)
            if len(taken) == limit:
                break
        return taken

    def _lease(self, state: TopicState, lease: Lease, until_ms: int) -> Delivery:
        held = state.groups[lease.group].held[lease.offset]
        held.owner, held.epoch, held.visible_at_ms = lease.owner, lease.epoch, until_ms
        held.attempt += 1
        placed = state.records[lease.offset]
        record = placed.record
        return Delivery(lease, record.value, record.key, dict(record.headers), held.attempt, placed.appended_at_ms)
