"""Items to test with, and the engines that the tests go over."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from gristmill.recent import Event, EventKind, Flag, LatestRequest, RecentStore, StoreLimits, rows_of
from gristmill.recent.engine import Engine, NumpyEngine

NOW_MS = 1_700_000_000_000
ENGINES: dict[str, Callable[[StoreLimits], Engine]] = {"numpy": NumpyEngine}

Kind = Literal["original", "reply", "repost"]
KIND_FLAGS = {"original": 0, "reply": Flag.REPLY, "repost": Flag.REPOST}


def mk(item: int, author: int, age_s: float, *, kind: Kind = "original", video: bool = False, **further: Any) -> Event:
    """An item that was created `age_s` seconds ago."""
    flags = KIND_FLAGS[kind] | (Flag.VIDEO if video else 0)
    return Event(item=item, author=author, at_ms=NOW_MS - round(age_s * 1_000), flags=flags, **further)


def gone(item: int, *, age_s: float = 0, kind: EventKind = EventKind.DELETE, **further: Any) -> Event:
    """A deletion, or another event about an item that was there before."""
    return Event(kind=kind, item=item, at_ms=NOW_MS - round(age_s * 1_000), **further)


def ids(*numbers: int) -> NDArray[np.uint64]:
    return np.array(numbers, np.uint64)


def store(engine: str = "numpy", **limits: int) -> RecentStore:
    """A store that holds nothing."""
    bounds = StoreLimits(**{"items_max": 20_000, **limits})
    return RecentStore(bounds, now_ms=NOW_MS, engine=ENGINES[engine](bounds))


def apply(recent: RecentStore, events: Sequence[Event], *, now_ms: int = NOW_MS) -> None:
    recent.apply(rows_of(events), now_ms=now_ms)


def latest(recent: RecentStore, *authors: int, now_ms: int = NOW_MS, **asked: Any) -> list[int]:
    """Ids of the newest items, newest first."""
    answer = recent.latest(LatestRequest(authors=ids(*authors), **asked), now_ms=now_ms)
    items: list[int] = answer.rows["item"].tolist()
    return items
