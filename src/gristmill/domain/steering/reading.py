"""How people write the place that a group is to go to."""

from __future__ import annotations

from datetime import datetime

from gristmill.domain.steering.places import SeekTo

__all__ = ["PLACE_ADVICE", "read_place"]

OFFSET_END = 1 << 63
"""Logs count in 64 bits with a sign."""

DIGITS_MAX = 19

PLACE_ADVICE = "write earliest, now, an offset, or a time such as 2026-11-30T12:00:00Z"


def read_place(text: str) -> SeekTo | None:
    """Return the place that a text means, None where it means none."""
    if text == "earliest":
        return SeekTo.earliest()
    if text == "now":
        return SeekTo.now()
    if text.isascii() and text.isdecimal():
        return SeekTo(offset=int(text)) if len(text) <= DIGITS_MAX and int(text) < OFFSET_END else None
    try:
        moment = datetime.fromisoformat(text)
        return None if moment.tzinfo is None else SeekTo(at_ms=max(0, round(moment.timestamp() * 1000)))
    except ValueError:
        return None
