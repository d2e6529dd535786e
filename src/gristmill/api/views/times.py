"""Times as the outside gives them."""

from __future__ import annotations

from datetime import datetime

from gristmill.api.problems import Fault, problem

__all__ = ["read_time"]


def read_time(name: str, text: str) -> int | None:
    """Return a time in UTC epoch milliseconds, None where the text is empty.

    Raises:
        ProblemRaised: `validation`: no RFC 3339 time with an offset.
    """
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            raise ValueError("no offset")
        return round(moment.timestamp() * 1000)
    except (ValueError, OverflowError) as error:
        fault = Fault(name, "is no time such as 2026-11-30T08:00:00Z")
        raise problem("validation", "query", errors=[fault]) from error
