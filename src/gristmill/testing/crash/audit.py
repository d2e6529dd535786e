"""Judges the recorded history of a killed and resumed run."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.recording import HistoryEvent, HistoryRecorder, read_history
from gristmill.adapters.sqlite import SqliteStore
from gristmill.testing.history import Bounds, check_history

__all__ = ["audit", "record_crash"]

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

    A kill between a commit and its line in the history leaves an ending out. So a record without one counts as ended
    when the store, asked now, says that its group has nothing left.
    """
    events = read_history(path)
    open_places = {event.place: event for event in events if event.kind == "deliver"}
    for event in events:
        if event.kind in ("accept", "dead"):
            open_places.pop(event.place, None)
    groups = {(event.topic, event.group) for event in open_places.values()}
    finished = asyncio.run(_find_finished(store_file, groups))
    endings = [
        HistoryEvent(kind="accept", at_ms=event.at_ms, topic=event.topic, group=event.group, offset=event.offset)
        for event in open_places.values()
        if (event.topic, event.group) in finished
    ]
    anomalies = check_history([*events, *endings], BOUNDS)
    return [f"{anomaly.promise} {anomaly.kind}: {anomaly.detail}" for anomaly in anomalies[:SHOWN_ANOMALIES_MAX]]


async def _find_finished(store_file: Path, groups: set[tuple[str, str]]) -> set[tuple[str, str]]:
    if not groups:
        return set()
    store = SqliteStore.open(store_file, clock=SystemClock(), owner="audit:0:0")
    finished = set()
    for topic, group in sorted(groups):
        lag = await store.log.lag(topic, group)
        if not (lag.undelivered or lag.in_flight or lag.waiting):
            finished.add((topic, group))
    await store.close()
    return finished
