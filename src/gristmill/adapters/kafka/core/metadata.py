r"""The text beside a committed offset.

    base64( version=1 | length of A (2 bytes) | A | length of B (2 bytes) | B | extras )

    A        bitset: bit i is set when offset `base + i` is complete
    B        bitset: bit i is set when the record at `base + i` is open and was started
    extras   3 bytes each: i (2 bytes) and the number of starts, where that is above one

Bit i is bit `i % 8` of byte `i // 8`; numbers are big endian; trailing zero bytes are cut. A broker keeps 4,096 bytes
(`offset.metadata.max.bytes`) and refuses the whole commit above that, so facts are left out before it comes to it:
first extras, the latest first (those records count as started once), then B, then A. What is left out of A is delivered
again, and the store's fence lets nothing be written twice.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field

__all__ = ["TEXT_MAX", "Progress", "decode_progress", "encode_progress"]

TEXT_MAX = 3_800
"""Longest text, in characters; leaves room under the broker's default of 4,096."""

VERSION = 1
EXTRA_BYTES = 3
STARTS_MAX = 255
INDEX_MAX = 0xFFFF


@dataclass(slots=True)
class Progress:
    """What is known above a committed offset, relative to it: complete ones, and the starts of open ones."""

    complete: set[int] = field(default_factory=set)
    starts: dict[int, int] = field(default_factory=dict)


def encode_progress(progress: Progress) -> tuple[str, int]:
    """Return the text, at most TEXT_MAX characters, and how many facts had to be left out."""
    complete = {index for index in progress.complete if index <= INDEX_MAX}
    starts = {index: count for index, count in progress.starts.items() if index <= INDEX_MAX}
    left_out = len(progress.complete) - len(complete) + len(progress.starts) - len(starts)
    if not complete and not starts:
        return "", left_out
    done_bits, start_bits = _to_bits(complete), _to_bits(set(starts))
    extras = sorted((index, count) for index, count in starts.items() if count > 1)
    room = _bytes_max() - _size(done_bits, start_bits)
    if room < 0:
        left_out += len(starts)
        start_bits, extras = b"", []
        room = _bytes_max() - _size(done_bits, start_bits)
    if room < 0:
        return "", left_out + len(complete)
    kept = extras[: room // EXTRA_BYTES]
    left_out += len(extras) - len(kept)
    body = bytearray([VERSION])
    for bits in (done_bits, start_bits):
        body += len(bits).to_bytes(2, "big") + bits
    for index, count in kept:
        body += index.to_bytes(2, "big") + min(count, STARTS_MAX).to_bytes(1, "big")
    return base64.b64encode(bytes(body)).decode(), left_out


def decode_progress(text: str) -> Progress:
    """Read a text back; what is not ours, or of another version, tells nothing."""
    try:
        body = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return Progress()
    if len(body) < 5 or body[0] != VERSION:
        return Progress()
    done_bits, rest = _take_bits(body[1:])
    start_bits, extras = _take_bits(rest)
    starts = dict.fromkeys(_from_bits(start_bits), 1)
    for place in range(0, len(extras) - EXTRA_BYTES + 1, EXTRA_BYTES):
        starts[int.from_bytes(extras[place : place + 2], "big")] = extras[place + 2]
    return Progress(_from_bits(done_bits), starts)


def _bytes_max() -> int:
    return TEXT_MAX // 4 * 3


def _size(done_bits: bytes, start_bits: bytes) -> int:
    return 1 + 2 + len(done_bits) + 2 + len(start_bits)


def _to_bits(indexes: set[int]) -> bytes:
    if not indexes:
        return b""
    bits = bytearray(max(indexes) // 8 + 1)
    for index in indexes:
        bits[index // 8] |= 1 << (index % 8)
    return bytes(bits)


def _from_bits(bits: bytes) -> set[int]:
    return {place * 8 + bit for place, byte in enumerate(bits) if byte for bit in range(8) if byte >> bit & 1}


def _take_bits(body: bytes) -> tuple[bytes, bytes]:
    length = int.from_bytes(body[:2], "big")
    return body[2 : 2 + length], body[2 + length :]
