"""Records as they lie in a stream, and back."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from gristmill.adapters.redis.places import offset_of
from gristmill.domain.log import Delivery, Lease, NewRecord, StoredRecord

__all__ = ["arguments_of", "delivery_of", "letter_parts", "stored_of"]

OUR_FIELDS_MIN = 8

_headers_encoder = msgspec.json.Encoder()
_headers_decoder = msgspec.json.Decoder(dict[str, str])

Parts = tuple[bytes, str, dict[str, str], int]
"""Value, key, headers, time of arrival."""


def arguments_of(record: NewRecord) -> tuple[bytes, str, bytes, int]:
    """Return what a script takes of a record: value, key, headers, due time."""
    headers = _headers_encoder.encode(record.headers) if record.headers else b""
    return record.value, record.key, headers, record.due_at_ms


def delivery_of(topic: str, group: str, owner: str, claimed: Sequence[object]) -> Delivery:
    """Return the delivery that a claim has answered."""
    place, epoch, attempt, fields = claimed
    offset = offset_of(place)  # type: ignore[arg-type]
    value, key, headers, appended_at_ms = _parts_of(place, fields)  # type: ignore[arg-type]
    lease = Lease(topic, group, offset, owner, epoch)  # type: ignore[arg-type]
    return Delivery(lease, value, key, headers, attempt, appended_at_ms)  # type: ignore[arg-type]


def stored_of(topic: str, entry: Sequence[object]) -> StoredRecord:
    """Return an entry of a stream as broadcast reading shows it."""
    place, fields = entry
    value, key, headers, appended_at_ms = _parts_of(place, fields)  # type: ignore[arg-type]
    return StoredRecord(topic, offset_of(place), value, key, headers, appended_at_ms)  # type: ignore[arg-type]


def letter_parts(entries: Sequence[Sequence[object]]) -> Parts:
    """Return what a dead letter shows of its record, empty where that is gone."""
    return _parts_of(*entries[0]) if entries else (b"", "", {}, 0)  # type: ignore[arg-type]


def _parts_of(place: bytes, fields: Sequence[bytes]) -> Parts:
    if len(fields) >= OUR_FIELDS_MIN and fields[0] == b"v" and fields[6] == b"t":
        headers = _headers_decoder.decode(fields[5]) if fields[5] else {}
        return fields[1], fields[3].decode(), headers, int(fields[7])
    # Written by another program: all of its fields are the value, as they stand.
    pairs = zip(fields[::2], fields[1::2], strict=True)
    texts = {name.decode("utf-8", "replace"): value.decode("utf-8", "replace") for name, value in pairs}
    return msgspec.json.encode(texts), "", {}, int(place.partition(b"-")[0])
