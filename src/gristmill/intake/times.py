"""Reads the many ways in which sources write a moment. Pure."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

__all__ = ["TimeUnreadable", "parse_time_ms"]

FORMATS = (
    "%Y/%m/%d %H:%M:%S",
    "%Y/%m/%d %H:%M",
    "%Y/%m/%d",
    "%d.%m.%Y %H:%M:%S",
    "%d.%m.%Y %H:%M",
    "%d.%m.%Y",
    "%a %b %d %H:%M:%S %z %Y",
    "%b %d, %Y",
    "%d %b %Y",
)
"""Tried after RFC 3339 and RFC 5322. Orders that cannot be told apart (01/02/2024) are left out."""

EPOCH_TEXT = re.compile(r"-?\d{9,20}(\.\d+)?")
"""Fewer digits in a text are a date (20240131) or nothing."""

EPOCH_S_MAX = 100_000_000_000
"""Numbers below are seconds (up to the year 5138), below 1,000 times that milliseconds, and so on."""

MS_MIN = -62_135_596_800_000
MS_MAX = 253_402_300_799_999
"""Years 1 to 9999, what `datetime` can show."""


class TimeUnreadable(ValueError):
    """The value is no moment that Gristmill can read."""


def parse_time_ms(value: Any) -> int:
    """Return UTC epoch milliseconds for RFC 3339, epoch s / ms / us / ns, and common formats; no zone means UTC.

    Raises:
        TimeUnreadable: it is none of these, or lies outside the years 1 to 9999.
    """
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _check(_scale_epoch(value))
    if not isinstance(value, str):
        raise TimeUnreadable(f"expected a time, got {type(value).__name__}")
    text = value.strip()
    if EPOCH_TEXT.fullmatch(text):
        return _check(_scale_epoch(float(text)))
    moment = _parse_text(text)
    if moment is None:
        raise TimeUnreadable(f"cannot be read as a time: {text[:40]!r}")
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    # With its offset a time of these years may lie outside them.
    return _check(round(moment.timestamp() * 1000))


def _parse_text(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        pass
    try:
        return parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        pass
    for pattern in FORMATS:
        try:
            return datetime.strptime(text, pattern)  # noqa: DTZ007 - the caller sets UTC where no zone is given.
        except ValueError:
            continue
    return None


def _scale_epoch(number: float) -> int:
    size = abs(number)
    if size < EPOCH_S_MAX:
        return round(number * 1000)
    for divisor in (1, 1_000, 1_000_000):
        if size < EPOCH_S_MAX * 1000 * divisor:
            return round(number / divisor)
    raise TimeUnreadable("is too large to be a time")


def _check(at_ms: int) -> int:
    if not MS_MIN <= at_ms <= MS_MAX:
        raise TimeUnreadable("lies outside the years 1 to 9999")
    return at_ms
