"""Times as texts. Inside they are integers in UTC epoch milliseconds; this is how everybody outside reads them."""

from __future__ import annotations

from datetime import UTC, datetime

__all__ = ["is_calendar_time", "write_second", "write_time"]

LAST_MS = 253_402_300_799_999
"""End of the year 9999: whatever is later is no time that a calendar knows."""


def write_time(at_ms: int) -> str:
    """Return a time as RFC 3339 in UTC, such as `2026-11-30T08:00:00.000Z`.

    Raises:
        ValueError, OverflowError: a calendar of the years 1 to 9999 does not know it.
    """
    return _write(at_ms, "milliseconds")


def write_second(at_ms: int) -> str:
    """Return a time as `write_time` does, without what is below a second: for lists that people read."""
    return _write(at_ms, "seconds")


def is_calendar_time(at_ms: int) -> bool:
    """Whether a time lies between 1970 and the end of the year 9999; what others have written may not."""
    return 0 <= at_ms <= LAST_MS


def _write(at_ms: int, timespec: str) -> str:
    # As a float, a time of some centuries ahead would come out a millisecond early.
    moment = datetime.fromtimestamp(at_ms // 1000, UTC).replace(microsecond=at_ms % 1000 * 1000)
    return moment.isoformat(timespec=timespec).replace("+00:00", "Z")
