"""Rows that were committed with the state and must become records of a log that is apart from it."""

from __future__ import annotations

import msgspec

from gristmill.domain.ids import ItemId
from gristmill.domain.log import NewRecord

__all__ = [
    "LOST_AFTER_MS",
    "NOISE_BYTES",
    "NewOutboxRow",
    "OutboxRow",
    "OutboxStanding",
    "Refused",
    "SendOutcome",
    "Sent",
    "Unsent",
    "compute_outbox_id",
    "decide_look_ms",
]

LOST_AFTER_MS = 600_000
"""A publication that has no run after so long may be lost; before that it is simply waiting."""

FIRST_LOOK_MS = 10_000
LOOK_MS = 60_000
"""A lost publication is found within so long after LOST_AFTER_MS."""

LOOKS_PER_AGE = 8
"""What waits for hours is looked at less often, so that a long backlog costs little."""

NOISE_BYTES = 10
"""Chance in the id of a row: 74 bits of it are used, so that no two processes make the same one."""


class NewOutboxRow(msgspec.Struct, frozen=True, gc=False):
    """What is to become a record.

    Attributes:
        item_id: the item that it publishes; such a row is kept until a run of it is stored. None for all else.
    """

    topic: str
    record: NewRecord
    item_id: ItemId | None = None


class OutboxRow(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A row as read back.

    Attributes:
        outbox_id: UUIDv7; a log knows by it that it has the record already.
        generation: how often what it publishes was found lost and made a new row.
        attempts: how often the log refused it; a log that is away refuses nothing.
        position: offset of its record once that is confirmed.
    """

    outbox_id: str
    topic: str
    record: NewRecord
    item_id: ItemId | None = None
    generation: int = 0
    created_at_ms: int
    attempts: int = 0
    position: int | None = None
    last_error: str = ""


class Sent(msgspec.Struct, frozen=True, gc=False):
    """The record is in the log, at this offset."""

    position: int


class Refused(msgspec.Struct, frozen=True, gc=False):
    """The log will not have it as it is; it is tried again at a time of its own."""

    error: str
    next_at_ms: int


class Unsent(msgspec.Struct, frozen=True, gc=False):
    """Nothing is known of it: the log is away, or nobody has asked. It is sent again under the same id."""


SendOutcome = Sent | Refused | Unsent


class OutboxStanding(msgspec.Struct, frozen=True):
    """How much waits to be sent.

    Attributes:
        oldest_at_ms: when the oldest of it was committed, None where nothing waits.
        last_error: of the oldest row that was refused, empty if none was.
    """

    pending: int = 0
    oldest_at_ms: int | None = None
    last_error: str = ""


def compute_outbox_id(now_ms: int, noise: bytes) -> str:
    """Return a UUIDv7 for a row that is made now; `noise` are NOISE_BYTES random bytes."""
    drawn = int.from_bytes(noise[:NOISE_BYTES], "big")
    number = (now_ms & (1 << 48) - 1) << 80 | 7 << 76 | (drawn >> 68) << 64 | 2 << 62 | drawn & (1 << 62) - 1
    text = f"{number:032x}"
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def decide_look_ms(age_ms: int) -> int:
    """Return how long after this look at a sent publication, so many ms old, the next one is due.

    The pauses double with the age until it may be lost, so one that is done with soon is let go of soon.
    """
    if age_ms < LOST_AFTER_MS:
        return min(max(FIRST_LOOK_MS, age_ms), LOST_AFTER_MS - age_ms + 1)
    return max(LOOK_MS, age_ms // LOOKS_PER_AGE)
