"""Finds what must never happen in a history. Pure: events in, anomalies out; each anomaly breaks one promise."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Literal

import msgspec

from gristmill.adapters.recording.events import EventKind, HistoryEvent

__all__ = ["Anomaly", "AnomalyKind", "Bounds", "check_fold", "check_history"]

AnomalyKind = Literal[
    "lost",
    "phantom",
    "double effect",
    "stale write",
    "early report",
    "false reclaim",
    "late reclaim",
    "gap",
    "regress",
    "inversion",
    "immortal",
    "fold divergence",
    "wedge",
]

PROMISES: Mapping[AnomalyKind, str] = {
    "lost": "P1",
    "phantom": "P1",
    "double effect": "P3",
    "stale write": "P4",
    "early report": "P1",
    "false reclaim": "P5",
    "late reclaim": "P5",
    "gap": "P6",
    "regress": "P6",
    "inversion": "P7",
    "immortal": "P8",
    "fold divergence": "P13",
    "wedge": "liveness",
}


class Anomaly(msgspec.Struct, frozen=True):
    """Something that must never happen.

    Attributes:
        promise: the promise it breaks.
        detail: what and where, for a person.
        event_index: position in the history of the event that shows it, -1 for something that is missing.
    """

    kind: AnomalyKind
    detail: str
    event_index: int = -1

    @property
    def promise(self) -> str:
        """The promise it breaks."""
        return PROMISES[self.kind]


class Bounds(msgspec.Struct, frozen=True):
    """What the run promised.

    Attributes:
        attempts_max: deliveries of a record that count, requeues apart.
        reclaim_ms: from an owner's death to the next delivery of what it held.
        wedge_ms: longest silence while a record is open.
        is_log_apart: log and state are two stores. Then a late holder may write until the state has been told of the
            next one (`fence`), which happens before that one's work and after its claim.
    """

    attempts_max: int
    reclaim_ms: int
    wedge_ms: int
    is_log_apart: bool = False


def check_history(events: Sequence[HistoryEvent], bounds: Bounds) -> list[Anomaly]:
    """Return every anomaly of a finished history, by kind."""
    return [
        *_find_lost(events),
        *_find_phantoms(events),
        *_find_double_effects(events),
        *_find_stale_writes(events, fenced_by="fence" if bounds.is_log_apart else "deliver"),
        *_find_stale_accepts(events),
        *_find_early_reports(events),
        *_find_false_reclaims(events),
        *_find_late_reclaims(events, bounds.reclaim_ms),
        *_find_gaps(events),
        *_find_inversions(events),
        *_find_immortals(events, bounds.attempts_max),
        *_find_wedges(events, bounds.wedge_ms),
    ]


def check_fold(table: Mapping[str, object], folded: Mapping[str, object]) -> list[Anomaly]:
    """Compare what a table holds with what its events add up to."""
    return [
        Anomaly("fold divergence", f"{name}: table {table.get(name)!r}, events {folded.get(name)!r}")
        for name in sorted(table.keys() | folded.keys())
        if table.get(name) != folded.get(name)
    ]


def _find_lost(events: Sequence[HistoryEvent]) -> Iterator[Anomaly]:
    """A published record must end, be dead, or be seen waiting in every group of its topic."""
    groups = _groups(events)
    ended: set[tuple[str, str, int]] = set()
    for event in events:
        if event.kind in ("accept", "dead", "waiting"):
            ended.add(event.place)
        elif event.kind == "requeue":
            ended.discard(event.place)
    for index, event in enumerate(events):
        if event.kind == "publish":
            for group in sorted(groups[event.topic]):
                if (event.topic, group, event.offset) not in ended:
                    yield Anomaly("lost", f"record {event.record} of group {group!r} did not end", index)


def _find_phantoms(events: Sequence[HistoryEvent]) -> Iterator[Anomaly]:
    published = {event.record for event in events if event.kind == "publish"}
    for index, event in enumerate(events):
        if event.kind in ("deliver", "effect") and event.record not in published:
            yield Anomaly("phantom", f"{event.kind} of {event.record}, which nobody published", index)


def _find_double_effects(events: Sequence[HistoryEvent]) -> Iterator[Anomaly]:
    applied: set[str] = set()
    for index, event in enumerate(events):
        if event.kind == "effect" and event.key:
            if event.key in applied:
                yield Anomaly("double effect", f"effect {event.key!r} was applied twice", index)
            applied.add(event.key)


def _find_stale_writes(events: Sequence[HistoryEvent], *, fenced_by: EventKind) -> Iterator[Anomaly]:
    return _find_late(events, "effect", fenced_by=fenced_by)


def _find_stale_accepts(events: Sequence[HistoryEvent]) -> Iterator[Anomaly]:
    """Ending a record is a write too, and the log knows its holder. Ends without a fence say nothing."""
    return _find_late(events, "accept", "dead", fenced_by="deliver")


def _find_late(events: Sequence[HistoryEvent], *kinds: EventKind, fenced_by: EventKind) -> Iterator[Anomaly]:
    """What was asked for after a later holder was known, and took hold all the same.

    A call that was under way when that one came in may have been before it: only its process was late to say so.
    """
    highest: dict[tuple[str, str, int], tuple[int, int]] = {}
    for index, event in enumerate(events):
        fence, at_ms = highest.get(event.place, (0, 0))
        if event.kind == fenced_by and event.fence > fence:
            highest[event.place] = event.fence, event.at_ms
        elif event.kind in kinds and 0 < event.fence < fence and (not event.asked_at_ms or event.asked_at_ms > at_ms):
            yield Anomaly("stale write", f"{event.kind} of {event.place} with fence {event.fence} < {fence}", index)


def _find_early_reports(events: Sequence[HistoryEvent]) -> Iterator[Anomaly]:
    """Whoever is told that a record is accepted must be able to rely on it."""
    accepted: set[tuple[str, str, int]] = set()
    for index, event in enumerate(events):
        if event.kind == "accept":
            accepted.add(event.place)
        elif event.kind == "report" and event.place not in accepted:
            yield Anomaly("early report", f"{event.place} was reported as accepted and is not", index)


def _find_false_reclaims(events: Sequence[HistoryEvent]) -> Iterator[Anomaly]:
    """A lease may be taken only when it is over or its owner is dead."""
    until_ms: dict[tuple[tuple[str, str, int], str], int] = {}
    crashed: set[str] = set()
    for index, event in enumerate(events):
        if event.kind == "crash":
            crashed.add(event.owner)
        elif event.kind in ("deliver", "renew"):
            until_ms[event.place, event.owner] = event.until_ms
        elif event.kind == "expire" and event.owner not in crashed:
            end_ms = until_ms.get((event.place, event.owner), 0)
            if event.at_ms < end_ms:
                detail = f"{event.place} was taken from {event.owner!r} {end_ms - event.at_ms} ms early"
                yield Anomaly("false reclaim", detail, index)


def _find_late_reclaims(events: Sequence[HistoryEvent], reclaim_ms: int) -> Iterator[Anomaly]:
    """What a dead owner held must be delivered again in time, counted from the last start of a process before it.

    While a whole group is down nobody can reclaim; how long a machine takes to start one is not the log's promise.
    """
    held: dict[tuple[str, str, int], str] = {}
    orphaned: dict[tuple[str, str, int], tuple[int, int]] = {}
    last_ms = events[-1].at_ms if events else 0
    for index, event in enumerate(events):
        if event.kind == "deliver":
            held[event.place] = event.owner
        elif event.kind in ("accept", "release", "dead"):
            held.pop(event.place, None)
        elif event.kind == "crash":
            orphaned.update((place, (event.at_ms, index)) for place, owner in held.items() if owner == event.owner)
        elif event.kind == "boot":
            orphaned = {place: (event.at_ms, crash_index) for place, (_, crash_index) in orphaned.items()}
        if event.kind in ("deliver", "accept", "dead") and event.place in orphaned:
            crashed_at_ms, _ = orphaned.pop(event.place)
            if event.at_ms > crashed_at_ms + reclaim_ms:
                late_ms = event.at_ms - crashed_at_ms
                yield Anomaly("late reclaim", f"{event.place} came back {late_ms} ms after its owner died", index)
    for place, (crashed_at_ms, index) in orphaned.items():
        if last_ms > crashed_at_ms + reclaim_ms:
            yield Anomaly("late reclaim", f"{place} never came back after its owner died", index)


def _find_gaps(events: Sequence[HistoryEvent]) -> Iterator[Anomaly]:
    """A commit of n says that everything up to n has ended, and it never goes back."""
    open_offsets: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
    committed: defaultdict[tuple[str, str], int] = defaultdict(int)
    groups = _groups(events)
    for index, event in enumerate(events):
        progress = (event.topic, event.group)
        if event.kind == "publish":
            for group in groups[event.topic]:
                open_offsets[event.topic, group].add(event.offset)
        elif event.kind in ("accept", "dead"):
            open_offsets[progress].discard(event.offset)
        elif event.kind == "commit":
            skipped = sorted(offset for offset in open_offsets[progress] if offset <= event.offset)
            if skipped:
                yield Anomaly("gap", f"commit of {event.place} skips {skipped}", index)
            if event.offset < committed[progress]:
                yield Anomaly("regress", f"commit of {event.place} after {committed[progress]}", index)
            committed[progress] = max(committed[progress], event.offset)


def _find_inversions(events: Sequence[HistoryEvent]) -> Iterator[Anomaly]:
    newest: defaultdict[str, int] = defaultdict(int)
    for index, event in enumerate(events):
        if event.kind == "effect" and event.item:
            if event.version < newest[event.item]:
                detail = f"item {event.item!r}: version {event.version} after {newest[event.item]}"
                yield Anomaly("inversion", detail, index)
            newest[event.item] = max(newest[event.item], event.version)


def _find_immortals(events: Sequence[HistoryEvent], attempts_max: int) -> Iterator[Anomaly]:
    for index, event in enumerate(events):
        if event.kind == "deliver" and event.attempt > attempts_max:
            yield Anomaly("immortal", f"{event.place}: attempt {event.attempt} of {attempts_max}", index)


def _find_wedges(events: Sequence[HistoryEvent], wedge_ms: int) -> Iterator[Anomaly]:
    """While a record is open something must happen."""
    groups = _groups(events)
    open_places: set[tuple[str, str, int]] = set()
    for index, (event, following) in enumerate(pairwise(events), start=1):
        if event.kind == "publish":
            open_places.update((event.topic, group, event.offset) for group in groups[event.topic])
        elif event.kind in ("accept", "dead"):
            open_places.discard(event.place)
        elif event.kind == "requeue":
            open_places.add(event.place)
        silence_ms = following.at_ms - event.at_ms
        if open_places and silence_ms > wedge_ms:
            yield Anomaly("wedge", f"nothing for {silence_ms} ms while {len(open_places)} records were open", index)


def _groups(events: Sequence[HistoryEvent]) -> defaultdict[str, set[str]]:
    """Return the groups that each topic was delivered to."""
    groups: defaultdict[str, set[str]] = defaultdict(set)
    for event in events:
        if event.group:
            groups[event.topic].add(event.group)
    return groups
