"""When a receiver that failed is tried again, and what its answer means.

Source: Standard Webhooks 1.0 (https://www.standardwebhooks.com), section on retries.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

__all__ = ["RETRIES_S", "Verdict", "decide_pause_ms", "judge_status"]

Verdict = Literal["delivered", "failed", "gone"]

RETRIES_S: tuple[float, ...] = (5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400)
"""Seconds before each retry: 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h, 24 h; a little over three days in all."""

JITTER = 0.1
"""Share by which a pause is longer at most, so that receivers are not all asked at once."""

PAUSE_S_MAX = 86_400
GONE = 410


def judge_status(status: int) -> Verdict:
    """Return what a status of HTTP means; redirects are no success, since nobody has signed for where they lead."""
    if 200 <= status < 300:
        return "delivered"
    return "gone" if status == GONE else "failed"


def decide_pause_ms(
    failures: int, *, draw: float, retries_s: Sequence[float] = RETRIES_S, asked_s: float = 0
) -> int | None:
    """Return how long to wait after the `failures`-th failure in a row, None where it was the last.

    Args:
        draw: within [0, 1).
        asked_s: what the receiver asked for (`Retry-After`); never shortens the pause.
    """
    if failures > len(retries_s):
        return None
    pause_s = retries_s[failures - 1] * (1 + JITTER * draw)
    return round(max(pause_s, min(asked_s, PAUSE_S_MAX)) * 1000)
