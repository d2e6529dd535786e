"""Why records wait. The same words in pages, in the API and in the labels of metrics."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, get_args

from gristmill.domain.log import Lag

__all__ = ["WAIT_REASONS", "WAIT_TEXTS", "WaitReason", "decide_waits"]

WaitReason = Literal[
    "paused", "not-serving", "backlog-full", "engines-busy", "rate-limited", "not-claimed", "set-aside"
]

WAIT_REASONS: tuple[WaitReason, ...] = get_args(WaitReason)

WAIT_TEXTS: Mapping[WaitReason, str] = MappingProxyType(
    {
        "paused": "somebody has paused the generator; `gristmill generator resume` lets it go on",
        "not-serving": "a process of the group is down or starting, so records may not be handed out",
        "backlog-full": "as many records wait as may (api.backlog_max), so publishing is refused",
        "engines-busy": "engines hold as many records as they may at once (dispatcher.max_in_flight)",
        "rate-limited": "the generator hands out no more than its max_qps",
        "not-claimed": "nobody has claimed these records yet",
        "set-aside": "records wait for their next attempt",
    }
)
"""What each of them means, for people."""


def decide_waits(
    lag: Lag, *, is_full: bool, is_serving: bool, max_qps: float | None, is_paused: bool = False
) -> tuple[WaitReason, ...]:
    """Return why records of a generator wait, the most telling reason first; nothing where none waits."""
    waits: list[WaitReason] = []
    if is_paused and lag.undelivered + lag.waiting:
        waits.append("paused")
    if lag.undelivered:
        if not is_serving:
            waits.append("not-serving")
        if is_full:
            waits.append("backlog-full")
        if lag.in_flight:
            waits.append("engines-busy")
        if max_qps is not None:
            waits.append("rate-limited")
        if not waits:
            waits.append("not-claimed")
    if lag.waiting:
        waits.append("set-aside")
    return tuple(waits)
