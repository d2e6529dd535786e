"""What a look at the surroundings found: one thing, whether it will do, and what to do where it will not."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

__all__ = ["Finding", "Verdict", "first_refused"]

Verdict = Literal["ok", "warning", "refused"]
"""`warning` can be lived with, at a price that the finding names; with `refused` a promise would not hold."""


class Finding(msgspec.Struct, frozen=True):
    """One thing that was looked at.

    Attributes:
        check: what was looked at, `redis appendonly`.
        found: the value as it is.
        advice: the next step, and what is at stake; empty where all is well.
    """

    check: str
    verdict: Verdict
    found: str
    advice: str = ""


def first_refused(findings: Iterable[Finding]) -> Finding | None:
    """Return the first finding that forbids to start, None where there is none."""
    return next((finding for finding in findings if finding.verdict == "refused"), None)
