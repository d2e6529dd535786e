"""Decides in which calls rows are sent, when a refused one is tried again, and when somebody should look. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from gristmill.domain.outbox import OutboxRow, OutboxStanding

__all__ = ["GENERATIONS_MAX", "OVERDUE_MS", "by_topic", "decide_retry_ms", "describe_overdue"]

OVERDUE_MS = 30_000
"""A row that waits for longer is a fault of something."""

RETRY_MS_MIN = 1_000
RETRY_MS_MAX = 600_000

GENERATIONS_MAX = 3
"""A publication that was sent so often and left no trace is given up: somebody leaves it out on purpose."""


def by_topic(rows: Sequence[OutboxRow]) -> dict[str, list[int]]:
    """Return the indexes of the rows of each topic, in their order."""
    indexes: dict[str, list[int]] = {}
    for index, row in enumerate(rows):
        indexes.setdefault(row.topic, []).append(index)
    return indexes


def decide_retry_ms(attempts: int) -> int:
    """Return the pause before a row is tried again that was refused `attempts` times before."""
    return min(RETRY_MS_MIN << min(attempts, 20), RETRY_MS_MAX)


def describe_overdue(standing: OutboxStanding, *, now_ms: int, problem: str) -> str:
    """Return what is wrong where rows wait for too long, empty where none does.

    Args:
        problem: why the log could not be reached in the last pass, empty if it could.
    """
    if standing.oldest_at_ms is None or now_ms - standing.oldest_at_ms <= OVERDUE_MS:
        return ""
    waits_s = (now_ms - standing.oldest_at_ms) // 1000
    why = problem or standing.last_error or "nobody sends them"
    return f"{standing.pending} outbox rows wait, the oldest for {waits_s} s: {why}"
