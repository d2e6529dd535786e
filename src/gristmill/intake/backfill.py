"""Records of a backfill: a value is nothing but ids, packed as signed 64-bit integers in little-endian order. Pure."""

from __future__ import annotations

import struct
from collections import Counter

__all__ = ["IDS_PER_BATCH", "IdBatcher", "read_packed_ids"]

IDS_PER_BATCH = 100
"""Ids that become one payload, so that what is known of them can be fetched in one question."""

ID_BYTES = 8

BAD_VALUE_LENGTH = "bad_value_len"
BAD_ID = "bad_id"


def read_packed_ids(value: bytes, dropped: Counter[str]) -> list[int]:
    """Return the ids of one value in order; count in `dropped`, by reason, what is none.

    A value whose length is no multiple of eight is dropped as a whole (`bad_value_len`): nobody can tell where its ids
    begin. An id that is not above zero is dropped alone (`bad_id`).
    """
    if len(value) % ID_BYTES:
        dropped[BAD_VALUE_LENGTH] += 1
        return []
    ids = [number for (number,) in struct.iter_unpack("<q", value)]
    good = [number for number in ids if number > 0]
    if len(good) < len(ids):
        dropped[BAD_ID] += len(ids) - len(good)
    return good


class IdBatcher:
    """Gathers ids of many values into batches of 100; `flush` gives what is left."""

    def __init__(self) -> None:
        self.dropped: Counter[str] = Counter()
        self._gathered: list[int] = []

    def add(self, value: bytes) -> list[tuple[int, ...]]:
        """Take one value and return the batches that are full now."""
        self._gathered += read_packed_ids(value, self.dropped)
        full: list[tuple[int, ...]] = []
        while len(self._gathered) >= IDS_PER_BATCH:
            full.append(tuple(self._gathered[:IDS_PER_BATCH]))
            del self._gathered[:IDS_PER_BATCH]
        return full

    def flush(self) -> list[tuple[int, ...]]:
        """Return what is left as a last batch, or nothing."""
        left, self._gathered = tuple(self._gathered), []
        return [left] if left else []
