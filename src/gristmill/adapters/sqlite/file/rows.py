"""Hands many rows to one statement: a JSON array for what is searched by, one slab of bytes for the blobs.

One statement for a batch instead of one a row: the driver lets go of the interpreter lock at every statement, and a
busy event loop would keep it for its switch interval each time, with the turn held. A row refers to its blob by start
and length; `substr(slab, start, length)` takes it out again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

__all__ = ["Slab", "from_json", "to_json"]

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(list[Any])


class Slab:
    """Blobs laid end to end."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._next = 1

    def add(self, blob: bytes) -> tuple[int, int]:
        """Take a blob in; return its start (from 1, as `substr` counts) and length."""
        start, length = self._next, len(blob)
        self._parts.append(blob)
        self._next = start + length
        return start, length

    def join(self) -> bytes:
        """Return all blobs as one; never empty, since nothing can be taken out of an empty value."""
        return b"".join(self._parts) or b"\0"


def to_json(rows: Iterable[Any]) -> str:
    """Return rows for `jsonb_each`, or plain values for `json_each`."""
    return _encoder.encode(rows if isinstance(rows, list) else list(rows)).decode()


def from_json(text: str) -> list[Any]:
    """Read what `json_group_array` returned."""
    return _decoder.decode(text)
