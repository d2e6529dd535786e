"""Records of a log, the leases on them, and what happens to those that cannot be handled."""

from __future__ import annotations

from typing import Literal

import msgspec

__all__ = [
    "NEVER_MS",
    "DeadLetter",
    "Delivery",
    "Diagnosis",
    "Hold",
    "Lag",
    "Lease",
    "NewRecord",
    "Rejected",
    "StoredRecord",
]

NEVER_MS = 1 << 62
"""Later than any end of a lease; fits 64 bits with room to add to."""

Rejected = Literal["written", "already", "lost"]
"""Answer to `reject`: dead letter written, written before, or the lease was no longer ours (nothing done)."""


class NewRecord(msgspec.Struct, frozen=True, gc=False):
    """A record to append.

    Attributes:
        value: the payload, at most `ports.log.RECORD_BYTES_MAX`.
        key: kept with the record; what belongs together, such as all that comes of one author.
        headers: small text values; `traceparent` and the like.
        due_at_ms: not delivered before this time (UTC epoch); 0 means at once.
    """

    value: bytes
    key: str = ""
    headers: dict[str, str] = {}
    due_at_ms: int = 0


class StoredRecord(msgspec.Struct, frozen=True, gc=False):
    """A record as broadcast reading sees it, without a lease."""

    topic: str
    offset: int
    value: bytes
    key: str
    headers: dict[str, str]
    appended_at_ms: int


class Lease(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """Temporary ownership of one record by one owner; the token that travels with the record.

    Attributes:
        offset: position in the topic; offsets grow with append order and are unique in the topic.
        owner: unique for each start of a process, never reused.
        epoch: the fence; it grows with every claim of the record, so a late holder is recognised.
    """

    topic: str
    group: str
    offset: int
    owner: str
    epoch: int


class Delivery(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A claimed record.

    Attributes:
        attempt: deliveries so far that count, this one included (1 on the first). A hand-back by shutdown or
            loss of the lease to a planned stop does not count, a process death does.
        appended_at_ms: when the record entered the log, UTC epoch.
    """

    lease: Lease
    value: bytes
    key: str
    headers: dict[str, str]
    attempt: int
    appended_at_ms: int


class Diagnosis(msgspec.Struct, frozen=True):
    """Why a record is given up.

    Attributes:
        error_class: short name that groups alike failures.
        error_text: at most 2 KiB, without secrets.
        plans: plan keys that had not ended.
        task: the task that failed, empty if none.
        history: one entry an attempt, `(at_ms, owner, error_text)`.
    """

    error_class: str
    error_text: str
    plans: tuple[str, ...] = ()
    task: str = ""
    history: tuple[tuple[int, str, str], ...] = ()

    @property
    def error(self) -> str:
        """Class and text of what went wrong, the class once."""
        name, text = self.error_class, self.error_text
        return text if text and text.startswith(name) else f"{name}: {text}"


class DeadLetter(msgspec.Struct, frozen=True):
    """A record that was given up, with its diagnosis. At most one per topic, group, offset and generation."""

    dead_letter_id: int
    topic: str
    group: str
    offset: int
    generation: int
    value: bytes
    key: str
    headers: dict[str, str]
    attempt: int
    diagnosis: Diagnosis
    failed_at_ms: int


class Hold(msgspec.Struct, frozen=True):
    """Where one record stands for one group that has not done with it.

    Attributes:
        owner: who has it under lease; empty while it waits.
        attempt: deliveries so far that count.
        until_ms: end of the lease, or when it is due, UTC epoch; 0 for at once.
    """

    owner: str
    attempt: int
    until_ms: int


class Lag(msgspec.Struct, frozen=True):
    """How far a group is behind.

    Attributes:
        undelivered: records never claimed.
        in_flight: records under a live lease.
        waiting: records that were released or appended with a delay and are not under a lease.
        oldest_age_ms: age of the oldest record that is not accepted, 0 if there is none.
        dead: dead letters of this group that were neither requeued nor dropped.
        lost: records that somebody else deleted before the group was done with them.
    """

    undelivered: int
    in_flight: int
    waiting: int
    oldest_age_ms: int
    dead: int
    lost: int = 0
