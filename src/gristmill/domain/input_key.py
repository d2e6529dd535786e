"""What the outside world calls an item, and the form under which that is stored."""

from __future__ import annotations

from hashlib import sha256

import msgspec

__all__ = ["INPUT_ID_BYTES_MAX", "InputKey", "TENANT_DEFAULT", "storage_form"]

TENANT_DEFAULT = "main"
"""Whose content it is where nobody says."""

INPUT_ID_BYTES_MAX = 8_192
"""Longest input id that is taken; an URL with everything in it."""

STORED_BYTES_MAX = 512
"""A longer input id is stored by its hash, so that no index holds kilobytes."""

STORED_CHARS_SURE = STORED_BYTES_MAX // 4
"""So many characters never take more bytes than that; nearly all ids are shorter, and need not be encoded to know."""

HASHED_PREFIX = "sha256:"


class InputKey(msgspec.Struct, frozen=True):
    """The id that a Source of a tenant uses for an item. Input ids of two Sources have nothing in common."""

    tenant: str
    source: str
    input_id: str


def storage_form(input_id: str) -> str:
    """Return the form under which an input id is stored and searched: itself, or its hash where it is long.

    What looks like a hash is hashed too, so that nobody can name the item of somebody else's long id.
    """
    if len(input_id) <= STORED_CHARS_SURE and not input_id.startswith(HASHED_PREFIX):
        return input_id
    raw = input_id.encode("utf-8", "surrogatepass")
    if len(raw) <= STORED_BYTES_MAX and not input_id.startswith(HASHED_PREFIX):
        return input_id
    return HASHED_PREFIX + sha256(raw).hexdigest()
