"""Puts everything that happened to an item into one order, from the record in the log to the last word of a person."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import msgspec

from gristmill.domain.commit import StoredRun
from gristmill.domain.ids import RunId
from gristmill.domain.log import DeadLetter, StoredRecord
from gristmill.domain.run import Event

__all__ = ["Moment", "MomentKind", "Recovery", "compose_timeline"]

MomentKind = Literal["record", "event", "run", "failure", "effect", "letter"]
"""What a moment is about; moments of one millisecond stand in this order."""

ORDER: Sequence[MomentKind] = ("record", "event", "run", "failure", "effect", "letter")


class Moment(msgspec.Struct, frozen=True):
    """Something that happened.

    Attributes:
        title: what, in a few words of ours.
        text: details that may hold what others wrote.
        body: of an event whose kind is not known here.
        run_id: of the run that it belongs to, empty for none.
    """

    at_ms: int
    kind: MomentKind
    title: str
    text: str = ""
    actor: str = ""
    body: Any = None
    run_id: RunId = RunId("")


class Recovery(msgspec.Struct, frozen=True):
    """A record that failed and was set aside, to come again later.

    Attributes:
        number: which recovery it is, from 1.
        history: all failures so far, `(at_ms, owner, error_text)`.
    """

    at_ms: int
    number: int
    error: str
    history: tuple[tuple[int, str, str], ...]


def compose_timeline(
    records: Iterable[StoredRecord],
    runs: Iterable[StoredRun],
    events: Iterable[Event],
    letters: Sequence[DeadLetter],
    recoveries: Sequence[Recovery] = (),
) -> list[Moment]:
    """Return what happened, the earliest first."""
    known = {run.run_id: run for run in runs}
    moments = [
        *(_tell_record(record) for record in records),
        *(moment for run in known.values() for moment in _tell_run(run)),
        *(_tell_event(event, known.get(event.run_id)) for event in events if event.kind != "run.ended"),
        *(_tell_recovery(recovery) for recovery in recoveries),
        *(_tell_letter(letter) for letter in letters),
        # Every later one holds the failures of those before it.
        *_tell_failures(letters[-1].diagnosis.history if letters else recoveries[-1].history if recoveries else ()),
    ]
    # What came in order stays in order where the clock does not tell apart.
    return sorted(moments, key=lambda moment: (moment.at_ms, ORDER.index(moment.kind)))


def _tell_record(record: StoredRecord) -> Moment:
    text = f"topic {record.topic}, offset {record.offset}, {len(record.value)} bytes"
    return Moment(record.appended_at_ms, "record", "record appended to the log", text)


def _tell_run(run: StoredRun) -> list[Moment]:
    """A run is told when it begins and when it ends: its events say less than it does."""
    name = f"{run.plan} version {run.plan_version}"
    tries = f", attempt {run.attempt}" if run.attempt > 1 else ""
    labels = ", ".join(dict.fromkeys(label.val for label in run.labels))
    ended = run.error or run.reason or (f"labels: {labels}" if labels else "no labels")
    told = [
        Moment(run.started_at_ms, "run", "run started", f"plan {name}{tries}", run_id=run.run_id),
        Moment(run.ended_at_ms, "run", f"run {run.status}", ended, run_id=run.run_id),
    ]
    for effect in run.effects:
        done = "recorded only (shadow)" if effect.mode == "shadow" else "to be carried out"
        told.append(
            Moment(
                run.ended_at_ms,
                "effect",
                f"effect {done}",
                f"{effect.action} of {effect.subject} through {effect.sink}, by task {effect.task}",
                run_id=run.run_id,
            )
        )
    return told


def _tell_event(event: Event, run: StoredRun | None) -> Moment:
    body = event.body if isinstance(event.body, dict) else {}
    match event.kind:
        case "item.ingested":
            # The log lets go of records that are worked off; the item still knows where it came from.
            origin = f", from record {run.position} of {run.generator}" if run is not None else ""
            text = f"revision {body.get('revision', '')}{origin}"
            return Moment(event.at_ms, "event", "item taken in", text, run_id=event.run_id)
        case "label.negated" | "label.applied":
            holds = "holds" if event.kind == "label.applied" else "does not hold"
            title = f"label {body.get('val', '')} {holds}"
            return Moment(event.at_ms, "event", title, str(body.get("reason", "")), actor=str(body.get("actor", "")))
        case _:
            return Moment(event.at_ms, "event", event.kind, body=event.body, run_id=event.run_id)


def _tell_recovery(recovery: Recovery) -> Moment:
    return Moment(recovery.at_ms, "failure", f"set aside for attempt {recovery.number + 1}", recovery.error)


def _tell_letter(letter: DeadLetter) -> Moment:
    told = f"given up as dead letter {letter.dead_letter_id}"
    return Moment(letter.failed_at_ms, "letter", told, letter.diagnosis.error)


def _tell_failures(history: Iterable[tuple[int, str, str]]) -> list[Moment]:
    return [Moment(at_ms, "failure", "attempt failed", text, actor=owner) for at_ms, owner, text in history]
