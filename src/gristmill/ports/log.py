"""The transport: topics of records, claimed under leases by groups, accepted one by one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Protocol

from gristmill.domain.log import (
    DeadLetter,
    Delivery,
    Diagnosis,
    Lag,
    Lease,
    NewRecord,
    Rejected,
    StoredRecord,
)
from gristmill.domain.steering import PartitionLag, SeekTo, Sought

__all__ = ["KeyOrder", "Log", "RECORDS_PER_CALL_MAX", "RECORD_BYTES_MAX"]

RECORDS_PER_CALL_MAX = 10_000
RECORD_BYTES_MAX = 8 * 1024 * 1024
"""Largest value of one record (8 MiB); anything larger belongs into a blob that the record refers to."""


class Log(Protocol):
    """Per-record outcomes over topics and groups; the verbs follow Kafka's share groups (KIP-932).

    A topic springs up with its first record, a group with its first claim; a new group starts at the oldest record.
    Every group sees every record of a topic. Offsets grow in append order and are never reused.
    `capabilities` may hold: `shares_store` (accept can be part of a State commit), `durable`, `owner_probe`
    (dead owners are recognised at once, not at the end of their leases), `total_order` (offsets grow in append order
    over all topics, not only within each), `partitioned` (offsets grow, claims are oldest first and broadcast reading
    can go on from an offset within one partition only), `front_trim` (trim deletes nothing behind what a group still
    needs; dead letters keep copies of their own), `claimer_settles` (leases live with the object that claimed: it alone
    can accept, release, reject and renew, and it alone tells what waits or is in flight from what is undelivered),
    `fixed_delays` (a counted release waits for the next longer of a few delays), `key_order` (of one key at most one
    record is handed out at a time, the oldest first, whoever claims; other logs may be a `KeyOrder`).
    All methods raise `Unavailable` when nothing was done and a retry is safe.
    """

    capabilities: frozenset[str]

    async def append(self, topic: str, records: Sequence[NewRecord]) -> list[int]:
        """Append 1..RECORDS_PER_CALL_MAX records and return their offsets in input order.

        All or nothing; durable once returned; not idempotent.

        Raises:
            UsageError: no record, too many, or one above RECORD_BYTES_MAX.
        """
        ...

    async def claim(self, topic: str, group: str, *, owner: str, limit: int, lease_ms: int) -> list[Delivery]:
        """Lease up to `limit` records that nobody holds, oldest first; never waits (see `wait`).

        Due redeliveries and fresh records alternate: after a claim that returned redeliveries the next one looks at
        fresh records first, so neither starves the other. `attempt` is raised before the record is handed out.
        """
        ...

    async def accept(self, leases: Sequence[Lease], *, then: Sequence[tuple[str, NewRecord]] = ()) -> list[bool]:
        """End records for good; False where the lease was no longer this one (nothing done for it).

        `then` are (topic, record) pairs appended in the same step when every lease was still owned; if any was lost,
        none is appended and no lease is accepted. Without `then` each lease stands alone.
        """
        ...

    async def release(self, leases: Sequence[Lease], *, delay_ms: int = 0, counted: bool = True) -> list[bool]:
        """Give records back, to be delivered again after `delay_ms`; `counted=False` takes the attempt back."""
        ...

    async def reject(self, lease: Lease, diagnosis: Diagnosis) -> Rejected:
        """Write a dead letter and accept the record in one step; idempotent."""
        ...

    async def renew(self, leases: Sequence[Lease], *, lease_ms: int) -> list[bool]:
        """Extend leases to `lease_ms` from now; False where ownership is lost. One round trip for all."""
        ...

    async def reclaim(self, *, me: str) -> int:
        """Free the leases of owners that are known to be dead; return how many records became claimable at once."""
        ...

    async def lag(self, topic: str, group: str) -> Lag:
        """Return how far the group is behind."""
        ...

    async def partitions(self, topic: str, group: str) -> list[PartitionLag]:
        """Return how far the group is behind in each partition; one entry where the log has none. Empty: no topic."""
        ...

    async def seek(self, topic: str, group: str, to: SeekTo, *, is_preview: bool = False) -> Sought:
        """Have the group get every record from a place on and none below, but for those under a lease.

        Records that it was done with come again, with a later fence; records that it has not begun and those that wait
        are skipped below the place. Open dead letters are left to whoever requeues or drops them. A group that never
        claimed begins there. Safe to repeat: what is done stays done.

        Args:
            is_preview: only count.
        Raises:
            UsageError: the log cannot do that to this group now; the advice says what to do first.
        """
        ...

    async def end(self, topic: str) -> int:
        """Return the number of records ever appended to the topic."""
        ...

    async def topics(self) -> list[str]:
        """Return the names of all topics, sorted."""
        ...

    def read_all(self, topic: str, *, after: int = 0, until_end: bool = True) -> AsyncIterator[list[StoredRecord]]:
        """Yield batches of all records with offset > `after`, oldest first, without leases (broadcast reading).

        Stops at the end seen when it gets there, or goes on waiting for more when `until_end` is False.
        """
        ...

    async def trim(self, topic: str, *, upto: int) -> int:
        """Delete records with offset <= `upto` that every group has accepted; return how many were deleted."""
        ...

    async def trimmed(self, topic: str) -> int:
        """Return how many records of the topic were trimmed so far; 0 for a topic that does not exist."""
        ...

    async def dead_letters(
        self, *, topic: str = "", group: str = "", after: int = 0, limit: int = 100, has_values: bool = True
    ) -> list[DeadLetter]:
        """Return open dead letters with a higher id than `after`, oldest first, optionally of one topic or group.

        Without `has_values` their values are left empty, so that many can be looked at.
        """
        ...

    async def requeue(self, dead_letter_id: int) -> bool:
        """Make a dead letter a record again, for its group alone, with a fresh budget; False if there is none."""
        ...

    async def drop(self, dead_letter_id: int) -> bool:
        """Close a dead letter for good; its record never comes back. False if there is none."""
        ...

    async def wait(self, topics: Sequence[str], *, timeout_ms: int) -> None:
        """Return when one of the topics may have claimable records, or after `timeout_ms`. May return early."""
        ...


class KeyOrder(Protocol):
    """A log that can tell whether the turn of a record has come; `key_order` makes that needless.

    All methods raise `Unavailable` when they cannot be answered.
    """

    async def has_open_before(self, topic: str, group: str, *, key: str, offset: int) -> bool:
        """Whether the group is not done with a record of this key at a lower offset.

        It is asked for a record that the group has claimed. A record is open while it is leased, by whomever, and while
        it waits; a dead letter is not. The answer False stays true: whoever got it may begin.
        """
        ...
