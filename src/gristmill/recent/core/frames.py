"""The packed frame: many events in one record of the log.

    header    16 bytes   magic "GRRF", version u16, flags u16 (0), count u32, reserved u32 (0)
    records   count x 48 bytes
    check      4 bytes   CRC32C over all that stands before it

    record    item u64, author u64, seconds u32, milliseconds u16, kind and flags u8, tag u8, three relations u64

Everything is little-endian. Kind and flags: bits 0-2 the kind (7 is an extension), 3 reply, 4 repost, 5 video,
6 "an extension follows". The relations of a create are answered item and author, or, of a repost that answers nobody,
source item and author; then the conversation. A repost that is a reply too carries its source in the extension behind
it. A label event carries the bits to set and to clear in its first two relations, a hide event its reason in the first.
A reader skips and counts kinds that it does not know.
"""

from __future__ import annotations

import struct

import google_crc32c
import msgspec
import numpy as np
from numpy.typing import NDArray

from gristmill.domain.errors import DataError, UsageError
from gristmill.recent.core.event import EVENT_ROW, EventKind, EventRows, Flag, mark_replies

__all__ = [
    "EVENTS_PER_FRAME_MAX",
    "FRAME_CONTENT",
    "DecodedFrame",
    "check_frame",
    "decode_frame",
    "encode_frame",
    "read_records",
]

EVENTS_PER_FRAME_MAX = 500
FRAME_CONTENT = "gristmill.recent-frame.v1"
"""What a record of the log says it holds."""

MAGIC = b"GRRF"
VERSION = 1
HEADER = struct.Struct("<4sHHII")
CHECK = struct.Struct("<I")
RECORD = np.dtype(
    [
        ("item", "<u8"),
        ("author", "<u8"),
        ("seconds", "<u4"),
        ("ms", "<u2"),
        ("bits", "u1"),
        ("tag", "u1"),
        ("relations", "<u8", (3,)),
    ]
)
BITS_AT = 22
"""Where in a record its kind stands."""

KIND_BITS = 0b111
EXTENSION = 7
FLAG_SHIFT = 3
FLAG_BITS = Flag.REPLY | Flag.REPOST | Flag.VIDEO
HAS_EXTENSION = 1 << 6
SECONDS_MAX = 2**32 - 1
BOTH = Flag.REPLY | Flag.REPOST


class DecodedFrame(msgspec.Struct, frozen=True):
    """What a frame held.

    Attributes:
        rows: its events, in their order.
        unknown: events of kinds that this program does not know.
    """

    rows: EventRows
    unknown: int


def encode_frame(rows: EventRows) -> bytes:
    """Return 1..EVENTS_PER_FRAME_MAX events as a frame.

    Raises:
        UsageError: none, or too many events; or a time that does not fit.
    """
    if not 1 <= len(rows) <= EVENTS_PER_FRAME_MAX:
        raise UsageError("events of a frame", value=len(rows), advice=f"put 1 to {EVENTS_PER_FRAME_MAX} into one")
    seconds = rows["at_ms"] // 1_000
    if seconds.min() < 0 or seconds.max() > SECONDS_MAX:
        raise UsageError("time of an event", value=int(rows["at_ms"].min()), advice="UTC epoch milliseconds from 1970")
    records = np.zeros(len(rows), RECORD)
    records["item"], records["author"], records["tag"] = rows["item"], rows["author"], rows["tag"]
    records["seconds"], records["ms"] = seconds, rows["at_ms"] % 1_000
    is_both = (rows["flags"] & BOTH) == BOTH
    records["bits"] = rows["kind"] | (rows["flags"] & FLAG_BITS) << FLAG_SHIFT | is_both * np.uint8(HAS_EXTENSION)
    _write_relations(records["relations"], rows)
    if is_both.any():
        extensions = np.zeros(int(is_both.sum()), RECORD)
        extensions["item"], extensions["bits"] = rows["item"][is_both], EXTENSION
        extensions["relations"][:, 0] = rows["source_item"][is_both]
        extensions["relations"][:, 1] = rows["source_author"][is_both]
        records = np.insert(records, np.flatnonzero(is_both) + 1, extensions)
    head = HEADER.pack(MAGIC, VERSION, 0, len(records), 0) + records.tobytes()
    return head + CHECK.pack(google_crc32c.value(head))


def decode_frame(value: bytes) -> DecodedFrame:
    """Return the events of a frame.

    Raises:
        DataError: it is damaged, or none of ours; nothing of it can be used.
    """
    return read_records(check_frame(value))


def check_frame(value: bytes) -> memoryview:
    """Return the records of a frame as they stand there, for `read_records`.

    Raises:
        DataError: it is damaged, or none of ours; nothing of it can be used.
    """
    if len(value) < HEADER.size + CHECK.size:
        raise DataError("frame of events is too short", value=len(value))
    magic, version, _, count, _ = HEADER.unpack_from(value)
    if magic != MAGIC or version != VERSION:
        raise DataError("frame of events begins otherwise", value=value[: HEADER.size].hex())
    if len(value) != HEADER.size + count * RECORD.itemsize + CHECK.size:
        raise DataError("frame of events has another length than it says", value=len(value))
    if CHECK.unpack_from(value, len(value) - CHECK.size)[0] != google_crc32c.value(value[: -CHECK.size]):
        raise DataError("frame of events is damaged", value=count)
    records = memoryview(value)[HEADER.size : -CHECK.size]
    if count and records[BITS_AT] & KIND_BITS == EXTENSION:
        raise DataError("frame of events begins with an extension", value=count)
    return records


def read_records(content: bytes | memoryview) -> DecodedFrame:
    """Return the events of the records of one frame, or of many behind each other, which is much quicker."""
    records = np.frombuffer(content, RECORD)
    kinds = records["bits"] & KIND_BITS
    is_event = kinds != EXTENSION
    is_known = is_event & (kinds <= max(EventKind)) & (records["bits"] < 1 << 7)
    rows = _read_records(records[is_known])
    _read_extensions(rows, records, is_known)
    mark_replies(rows)
    return DecodedFrame(rows, int(is_event.sum() - is_known.sum()))


def _write_relations(relations: NDArray[np.uint64], rows: EventRows) -> None:
    is_plain_repost = (rows["flags"] & BOTH) == Flag.REPOST
    relations[:, 0] = np.where(is_plain_repost, rows["source_item"], rows["answered_item"])
    relations[:, 1] = np.where(is_plain_repost, rows["source_author"], rows["answered_author"])
    relations[:, 2] = rows["conversation"]
    is_label, is_hide = rows["kind"] == EventKind.LABEL, rows["kind"] == EventKind.HIDE
    relations[is_label, 0], relations[is_label, 1] = rows["set"][is_label], rows["clear"][is_label]
    relations[is_hide, 0] = rows["reason"][is_hide]


def _read_records(records: NDArray[np.void]) -> EventRows:
    rows = np.zeros(len(records), EVENT_ROW)
    rows["item"], rows["author"], rows["tag"] = records["item"], records["author"], records["tag"]
    rows["at_ms"] = records["seconds"].astype(np.int64) * 1_000 + records["ms"]
    rows["kind"] = records["bits"] & KIND_BITS
    rows["flags"] = records["bits"] >> FLAG_SHIFT & FLAG_BITS
    first, second = records["relations"][:, 0], records["relations"][:, 1]
    is_label, is_hide = rows["kind"] == EventKind.LABEL, rows["kind"] == EventKind.HIDE
    rows["set"][is_label], rows["clear"][is_label] = first[is_label], second[is_label]
    rows["reason"][is_hide] = first[is_hide]
    is_source = (rows["flags"] & BOTH) == Flag.REPOST
    is_answer = ~is_source & ~is_label & ~is_hide
    rows["source_item"][is_source], rows["source_author"][is_source] = first[is_source], second[is_source]
    rows["answered_item"][is_answer], rows["answered_author"][is_answer] = first[is_answer], second[is_answer]
    rows["conversation"] = records["relations"][:, 2]
    return rows


def _read_extensions(rows: EventRows, records: NDArray[np.void], is_known: NDArray[np.bool_]) -> None:
    """Give the sources of reposts that are replies too to the events in front of them."""
    wanted = np.flatnonzero(is_known & ((records["bits"] & HAS_EXTENSION) != 0))
    wanted = wanted[wanted + 1 < len(records)]
    wanted = wanted[(records["bits"][wanted + 1] & KIND_BITS) == EXTENSION]
    places = (np.cumsum(is_known) - 1)[wanted]
    rows["source_item"][places] = records["relations"][wanted + 1, 0]
    rows["source_author"][places] = records["relations"][wanted + 1, 1]
