"""Records as they lie in a stream, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from gristmill.adapters.redis.places import offset_of, place_of
from gristmill.domain.log import Delivery, Lease, NewRecord, StoredRecord

__all__ = ["Parts", "lease_text", "letter_parts", "pack_leases", "pack_records", "read_claimed", "stored_of"]

OUR_FIELDS_MIN = 4

PLAIN = -1
"""Stands for the number of fields where a claim tells of value and time alone."""

_pack = msgspec.msgpack.Encoder().encode
_headers_encoder = msgspec.json.Encoder()
_headers_decoder = msgspec.json.Decoder(dict[str, str])

Parts = tuple[bytes, str, dict[str, str], int]
"""Value, key, headers, time of arrival."""


def pack_records(records: Sequence[NewRecord]) -> tuple[bytes, bytes]:
    """Return records as scripts take them: all bytes end to end, and the numbers that part them."""
    parts: list[bytes] = []
    numbers: list[int] = []
    for record in records:
        key = record.key.encode() if record.key else b""
        headers = _headers_encoder.encode(record.headers) if record.headers else b""
        parts += (record.value, key, headers)
        numbers += (len(record.value), len(key), len(headers), record.due_at_ms)
    return b"".join(parts), _pack(numbers)


def pack_leases(leases: Sequence[Lease]) -> bytes:
    """Return leases as scripts take them; one round trip and few arguments, however many there are."""
    places: list[str] = []
    texts: list[str] = []
    known: dict[tuple[int, str], str] = {}
    for lease in leases:
        places.append(place_of(lease.offset))
        alike = (lease.epoch, lease.owner)
        text = known.get(alike)
        if text is None:
            text = known[alike] = lease_text(lease)
        texts.append(text)
    return _pack((places, texts))


def lease_text(lease: Lease) -> str:
    """Return a lease as scripts compare it; one without owner is nobody's."""
    return f"{lease.epoch} {lease.owner}\n" if lease.owner else "-"


def read_claimed(
    topic: str, group: str, owner: str, flat: Sequence[Any], *, field: str | None
) -> tuple[list[Delivery], list[Lease]]:
    """Return what a claim has answered, and leases of records that are gone; `field` as `KeyNames.field_of` tells it.

    `claim.lua` says how the answer is laid out.
    """
    deliveries: list[Delivery] = []
    gone: list[Lease] = []
    at, end = 0, len(flat)
    while at < end:
        place, epoch, attempt, count = flat[at : at + 4]
        at += 4
        if count == PLAIN:
            lease = Lease(topic, group, place, owner, epoch)
            deliveries.append(Delivery(lease, flat[at], "", {}, attempt, int(flat[at + 1])))
            at += 2
            continue
        lease = Lease(topic, group, offset_of(place), owner, epoch)
        if count:
            value, key, headers, appended_at_ms = _parts_of(place, flat[at : at + count], field)
            deliveries.append(Delivery(lease, value, key, headers, attempt, appended_at_ms))
            at += count
        else:
            gone.append(lease)
    return deliveries, gone


def stored_of(topic: str, entry: Sequence[Any], *, field: str | None) -> StoredRecord:
    """Return an entry of a stream as broadcast reading shows it; `field` as `KeyNames.field_of` tells it."""
    place, fields = entry
    value, key, headers, appended_at_ms = _parts_of(place, fields, field)
    return StoredRecord(topic, offset_of(place), value, key, headers, appended_at_ms)


def letter_parts(entries: Sequence[Sequence[Any]], *, field: str | None) -> Parts:
    """Return what a dead letter shows of its record, empty where that is gone; `field` as in `stored_of`."""
    if not entries:
        return b"", "", {}, 0
    place, fields = entries[0]
    return _parts_of(place, fields, field)


def _parts_of(place: bytes, fields: Sequence[bytes], field: str | None) -> Parts:
    if field is not None:
        value = dict(zip(fields[::2], fields[1::2], strict=True)).get(field.encode()) if field else None
        # An entry without the field is shown whole: whoever decodes it says what is wrong with it.
        return _all_fields(fields) if value is None else value, "", {}, int(place.partition(b"-")[0])
    if len(fields) >= OUR_FIELDS_MIN and fields[0] == b"v" and fields[2] == b"t":
        if len(fields) == OUR_FIELDS_MIN:
            return fields[1], "", {}, int(fields[3])
        more = dict(zip(fields[4::2], fields[5::2], strict=True))
        headers = _headers_decoder.decode(more[b"h"]) if b"h" in more else {}
        return fields[1], more.get(b"k", b"").decode(), headers, int(fields[3])
    # Written by another program: all of its fields are the value, as they stand.
    return _all_fields(fields), "", {}, int(place.partition(b"-")[0])


def _all_fields(fields: Sequence[bytes]) -> bytes:
    texts = [one.decode("utf-8", "replace") for one in fields]
    return msgspec.json.encode(dict(zip(texts[::2], texts[1::2], strict=True)))
