"""An event about an item, one at a time and as rows of an array.

Rows are what travels and what the engines work on: one array of `EVENT_ROW` holds a whole batch without an object for
each event. Id 0 means "none" in every relation, so no item may have it.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

import msgspec
import numpy as np
from numpy.typing import NDArray

__all__ = [
    "EVENT_ROW",
    "Event",
    "EventKind",
    "EventRows",
    "Flag",
    "ItemKind",
    "events_of",
    "mark_replies",
    "rows_of",
    "select",
]


class EventKind(IntEnum):
    """What has happened; the numbers are those of the packed frame."""

    CREATE = 0
    DELETE = 1
    HIDE = 2
    RESTORE = 3
    LABEL = 4
    UNDELETE = 5


class Flag(IntEnum):
    """Bits of an item in a row of events."""

    REPLY = 1
    REPOST = 2
    VIDEO = 4


class ItemKind(IntEnum):
    """Kinds that a query can ask for, as bits; an item that answers and shares at once is of two kinds."""

    ORIGINAL = 1
    REPLY = 2
    REPOST = 4


EVENT_ROW = np.dtype(
    [
        ("kind", "u1"),
        ("flags", "u1"),
        ("tag", "u1"),
        ("item", "<u8"),
        ("author", "<u8"),
        ("at_ms", "<i8"),
        ("answered_item", "<u8"),
        ("answered_author", "<u8"),
        ("source_item", "<u8"),
        ("source_author", "<u8"),
        ("conversation", "<u8"),
        ("set", "<u2"),
        ("clear", "<u2"),
        ("reason", "<u2"),
    ]
)
"""`at_ms`: creation of the item, or the time of the deletion or decision; UTC epoch milliseconds."""

EventRows = NDArray[np.void]
"""An array of `EVENT_ROW`, in the order of the log."""


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One event.

    Attributes:
        item: id of the item, not 0.
        author: who wrote it; 0 is an ordinary author.
        at_ms: creation of the item, or the time of the deletion or decision; UTC epoch milliseconds.
        flags: bits of `Flag`.
        tag: free number of the deployment.
        set, clear: label bits of a LABEL event.
        reason: why an item is hidden, as a number of the deployment.
    """

    kind: EventKind = EventKind.CREATE
    item: int
    author: int = 0
    at_ms: int
    flags: int = 0
    tag: int = 0
    answered_item: int = 0
    answered_author: int = 0
    source_item: int = 0
    source_author: int = 0
    conversation: int = 0
    set: int = 0
    clear: int = 0
    reason: int = 0


def rows_of(events: Sequence[Event]) -> EventRows:
    """Return events as rows, in their order. What answers somebody is a reply, whether its flag says so or not."""
    rows = np.zeros(len(events), EVENT_ROW)
    for name in EVENT_ROW.names or ():
        rows[name] = [getattr(event, name) for event in events]
    mark_replies(rows)
    return rows


def events_of(rows: EventRows) -> list[Event]:
    """Return rows as events, in their order."""
    names = EVENT_ROW.names or ()
    return [
        Event(**{**dict(zip(names, values, strict=True)), "kind": EventKind(values[0])}) for values in rows.tolist()
    ]


def select(rows: EventRows, chosen: NDArray[np.bool_]) -> EventRows:
    """Return the chosen rows; the rows themselves where all are, since to copy whole rows is slow in numpy."""
    return rows if chosen.all() else rows[chosen]


def mark_replies(rows: EventRows) -> None:
    """Set the flag of replies on whatever names an answered item or author."""
    rows["flags"][(rows["answered_item"] | rows["answered_author"]) != 0] |= np.uint8(Flag.REPLY)
