"""Where the next page of a list begins; opaque to callers, so that its meaning may change."""

from __future__ import annotations

import base64
import binascii

from gristmill.api.problems import Fault, problem

__all__ = ["decode_cursor", "encode_cursor"]

CURSOR_CHARS_MAX = 64
VERSION = "1:"
INT64_MAX = 2**63 - 1


def encode_cursor(place: int) -> str:
    """Return a place as a cursor."""
    return base64.urlsafe_b64encode(f"{VERSION}{place}".encode()).decode().rstrip("=")


def decode_cursor(cursor: str) -> int | None:
    """Return the place of a cursor, None for the beginning.

    Raises:
        ProblemRaised: `validation`: we never gave this cursor.
    """
    if not cursor:
        return None
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        text = base64.b64decode(padded, altchars=b"-_", validate=True).decode("ascii")
    except (binascii.Error, ValueError):
        text = ""
    digits = text.removeprefix(VERSION)
    is_ours = len(cursor) <= CURSOR_CHARS_MAX and text.startswith(VERSION) and digits.isdecimal()
    if not is_ours or int(digits) > INT64_MAX:
        raise problem("validation", errors=[Fault("cursor", "is none of ours; begin without one")])
    return int(digits)
