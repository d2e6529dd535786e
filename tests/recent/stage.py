"""A feeder and servers over a log that the test owns, in one process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec
from prometheus_client import CollectorRegistry

from gristmill.adapters.clock import SystemClock
from gristmill.domain.log import NewRecord
from gristmill.ports.clock import Clock
from gristmill.ports.log import Log
from gristmill.recent import Event, LatestRequest, RecentStore, StoreLimits, encode_frame, rows_of
from gristmill.recent.core.event import events_of
from gristmill.recent.core.feed import FeedRules, RawMapping
from gristmill.recent.core.frames import decode_frame
from gristmill.recent.core.gate import Gate
from gristmill.recent.feeder import Feeder
from gristmill.recent.metrics import FeederMetrics, ServingMetrics
from gristmill.recent.serving import RecentServing
from tests.recent.making import ENGINES, ids

RAW, ITEMS, GROUP = "content.events", "recent.items", "gristmill-recent"
PATIENCE_S = 60


def make_feeder(log: Log, clock: Clock, *, owner: str = "feeder", **paths: str) -> tuple[Feeder, CollectorRegistry]:
    registry = CollectorRegistry()
    feeder = Feeder(
        log,
        clock,
        owner=owner,
        source=RAW,
        sink=ITEMS,
        group=GROUP,
        metrics=FeederMetrics(registry),
        rules=FeedRules(),
        mapping=RawMapping(**paths),
    )
    return feeder, registry


def make_serving(log: Log, clock: Clock, *, engine: str = "numpy", **limits: int) -> RecentServing:
    bounds = StoreLimits(**{"items_max": 20_000, **limits})
    store = RecentStore(bounds, now_ms=clock.now_ms(), engine=ENGINES[engine](bounds))
    gate = Gate(staleness_ms=60_000)
    return RecentServing(store, log, clock, topic=ITEMS, gate=gate, metrics=ServingMetrics(CollectorRegistry()))


@asynccontextmanager
async def running(serving: RecentServing, *, until_ready: bool = True) -> AsyncIterator[asyncio.Task[None]]:
    """Keep a server at work, once it is ready."""
    task = asyncio.create_task(serving.run())
    try:
        if until_ready:
            await until(lambda: serving.gate.is_open or task.done())
        yield task
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await task


async def until(is_so: Callable[[], bool]) -> None:
    """Wait for a condition; the loop goes on meanwhile."""
    real = SystemClock()
    async with asyncio.timeout(PATIENCE_S):
        while not is_so():
            await real.sleep_ms(2)


async def append_raw(log: Log, *documents: dict[str, Any] | bytes) -> None:
    values = [one if isinstance(one, bytes) else msgspec.json.encode(one) for one in documents]
    await log.append(RAW, [NewRecord(value) for value in values])


async def append_frames(log: Log, events: Sequence[Event], *, size: int = 100) -> None:
    frames = [encode_frame(rows_of(events[start : start + size])) for start in range(0, len(events), size)]
    if frames:
        await log.append(ITEMS, [NewRecord(frame) for frame in frames])


async def fed(log: Log) -> list[Event]:
    """All events that were fed."""
    return [
        event
        async for records in log.read_all(ITEMS)
        for record in records
        for event in events_of(decode_frame(record.value).rows)
    ]


def asked(serving: RecentServing, *authors: int, **further: Any) -> list[int]:
    items: list[int] = serving.latest(LatestRequest(authors=ids(*authors), **further)).rows["item"].tolist()
    return items


class Instead:
    """A log some of whose verbs a test has replaced; the rest is that of the log behind it."""

    def __init__(self, log: Log, **verbs: Any) -> None:
        self._log = log
        self._verbs = verbs

    def __getattr__(self, name: str) -> Any:
        return self._verbs.get(name) or getattr(self._log, name)
