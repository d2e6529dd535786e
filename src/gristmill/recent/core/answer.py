"""Items as a query returns them, and their packed form.

    header    16 bytes   magic "GRRA", version u16, flags u16 (1 partial, 2 stale, 4 truncated), count u32, reserved u32
    columns   of `count` values each, in this order:
              item u64, author u64, created (ms) i64, answered item u64, answered author u64, source item u64,
              source author u64, conversation u64, labels u16, flags u8 (1 reply, 2 repost, 4 video, 16 hidden), tag u8

Everything is little-endian.
"""

from __future__ import annotations

import struct

import msgspec
import numpy as np
from numpy.typing import NDArray

__all__ = ["ITEM_ROW", "PACKED_ANSWER", "Answer", "ItemRows", "pack_answer"]

PACKED_ANSWER = "application/vnd.gristmill.recent-answer"
"""Media type of the packed form."""

ITEM_ROW = np.dtype(
    [
        ("item", "<u8"),
        ("author", "<u8"),
        ("at_ms", "<i8"),
        ("answered_item", "<u8"),
        ("answered_author", "<u8"),
        ("source_item", "<u8"),
        ("source_author", "<u8"),
        ("conversation", "<u8"),
        ("labels", "<u2"),
        ("flags", "u1"),
        ("tag", "u1"),
    ]
)

ItemRows = NDArray[np.void]
"""An array of `ITEM_ROW`."""

HEADER = struct.Struct("<4sHHII")
MAGIC = b"GRRA"
VERSION = 1


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """Items of a query, newest first.

    Attributes:
        partial: the time was up before everything was looked at.
        stale: newer items are known to wait.
        truncated: the request named more authors or exclusions than are looked at.
        visited: entries of queues that were looked at.
    """

    rows: ItemRows
    partial: bool = False
    stale: bool = False
    truncated: bool = False
    visited: int = 0


def pack_answer(answer: Answer) -> bytes:
    """Return an answer in its packed form."""
    flags = answer.partial | answer.stale << 1 | answer.truncated << 2
    head = HEADER.pack(MAGIC, VERSION, flags, len(answer.rows), 0)
    return head + b"".join(answer.rows[name].tobytes() for name in ITEM_ROW.names or ())
