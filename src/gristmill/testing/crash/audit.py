"""Judges the recorded history of a killed and resumed run."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from pathlib import Path

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.recording import HistoryEvent, HistoryRecorder, read_history
from gristmill.adapters.sqlite import SqliteStore
from gristmill.testing.history import Bounds, check_history

__all__ = ["audit", "judge", "record_crash"]

BOUNDS = Bounds(attempts_max=3, reclaim_ms=15_000, wedge_ms=30_000)
"""Three deliveries; a lease of 3 s, a restart and its imports on a busy machine; no longer silence than ten leases."""

SHOWN_ANOMALIES_MAX = 5


def record_crash(path: Path, pids: Sequence[int]) -> None:
    """Write down that the owners of these processes are dead; an owner's name holds its pid in the middle."""
    if not path.exists():
        return
    dead = {str(pid) for pid in pids}
    owners = {event.owner for event in read_history(path) if event.owner}
    recorder = HistoryRecorder(path, process="crash-loop", clock=SystemClock())
    for owner in sorted(owners):
        if owner.split(":")[1] in dead:
            recorder.record("crash", owner=owner)
    recorder.close()


def audit(path: Path, store_file: Path) -> list[str]:
    """Return the anomalies of a finished run, in words, at most five; empty when its history is clean.

    A kill between a call and its line in the history leaves the line out. What it would have said is taken from the
    store: a record that is there was published; one whose group has nothing left has ended.
    """
    events = read_history(path)
    published, finished = asyncio.run(_read_truth(store_file, {(e.topic, e.group) for e in events if e.group}))
    return judge(events, published, finished, bounds=BOUNDS)


def judge(
    events: Sequence[HistoryEvent],
    published: Sequence[tuple[str, int]],
    finished: Collection[tuple[str, str]],
    *,
    bounds: Bounds,
) -> list[str]:
    """Return the anomalies of a history, in words, at most five.

    Args:
        published: records that exist, whether the history tells of them or not.
        finished: (topic, group) pairs that have nothing left.
    """
    told = {event.record for event in events if event.kind == "publish"}
    first_ms = events[0].at_ms if events else 0
    missing = [
        HistoryEvent(kind="publish", at_ms=first_ms, topic=topic, offset=offset)
        for topic, offset in published
        if (topic, offset) not in told
    ]
    open_places = {event.place: event for event in events if event.kind == "deliver"}
    for event in events:
        if event.kind in ("accept", "dead"):
            open_places.pop(event.place, None)
    told_whole: list[HistoryEvent] = [*missing]
    for event in events:
        told_whole.append(event)
        # Where its delivery stands: at the end of the history it would look like a long silence.
        if open_places.get(event.place) is event and (event.topic, event.group) in finished:
            ending = HistoryEvent(
                kind="accept", at_ms=event.at_ms, topic=event.topic, group=event.group, offset=event.offset
            )
            told_whole.append(ending)
    anomalies = check_history(told_whole, bounds)[:SHOWN_ANOMALIES_MAX]
    return [f"{anomaly.promise} {anomaly.kind}: {anomaly.detail}" for anomaly in anomalies]


async def _read_truth(
    store_file: Path, groups: set[tuple[str, str]]
) -> tuple[list[tuple[str, int]], set[tuple[str, str]]]:
    """Return the records that the store holds, and the groups that have nothing left."""
    store = SqliteStore.open(store_file, clock=SystemClock(), owner="audit:0:0")
    published: list[tuple[str, int]] = []
    for topic in sorted({topic for topic, _ in groups}):
        async for batch in store.log.read_all(topic):
            published.extend((topic, record.offset) for record in batch)
    finished = set()
    for topic, group in sorted(groups):
        lag = await store.log.lag(topic, group)
        if not (lag.undelivered or lag.in_flight or lag.waiting):
            finished.add((topic, group))
    await store.close()
    return published, finished
