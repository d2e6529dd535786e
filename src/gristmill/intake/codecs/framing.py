"""What clients of Confluent's schema registry put in front of a record. Pure.

    0x00        always
    4 bytes     id of the schema, big-endian; not looked at: the schema stands in the Source
    indexes     of protobuf alone: which message of its file it is; zigzag varints, how many and then each

One 0x00 stands for the commonest list of indexes: the first message.
"""

from __future__ import annotations

from gristmill.domain.errors import DataError

__all__ = ["strip_frame", "strip_indexes"]

HEAD_BYTES = 5
INDEXES_MAX = 64
VARINT_BYTES_MAX = 5


def strip_frame(raw: bytes) -> bytes:
    """Return what follows the schema id.

    Raises:
        DataError: there is no frame.
    """
    if len(raw) < HEAD_BYTES or raw[0] != 0:
        raise DataError("does not begin with a schema id", advice="framing: none, if its writer adds none")
    return raw[HEAD_BYTES:]


def strip_indexes(raw: bytes) -> bytes:
    """Return what follows the message indexes.

    Raises:
        DataError: they are cut short or too many.
    """
    count, at = _read_varint(raw, 0)
    if count > INDEXES_MAX:
        raise DataError("has too many message indexes", value=count)
    for _ in range(count):
        _, at = _read_varint(raw, at)
    return raw[at:]


def _read_varint(raw: bytes, at: int) -> tuple[int, int]:
    """Return a zigzag number that is not below 0 and the place after it."""
    value = 0
    for index in range(VARINT_BYTES_MAX):
        if at + index >= len(raw):
            break
        byte = raw[at + index]
        value |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            return value >> 1, at + index + 1
    raise DataError("message indexes are cut short")
