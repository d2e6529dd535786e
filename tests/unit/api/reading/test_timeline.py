"""What happened to an item, in one order."""

from typing import Any

from gristmill.api.reading.timeline_core import Recovery, compose_timeline
from gristmill.domain.commit import StoredRun
from gristmill.domain.ids import ItemId, RunId
from gristmill.domain.item import AppliedLabel
from gristmill.domain.log import DeadLetter, Diagnosis, StoredRecord
from gristmill.domain.run import Effect, Event

RUN = RunId("a" * 32)
NONE = RunId("")


def make_run(**changes: Any) -> StoredRun:
    fields: dict[str, Any] = {
        **{"run_id": RUN, "plan": "screen", "plan_version": 2, "generator": "items", "item_id": ItemId(1)},
        **{"position": 5, "status": "done", "started_at_ms": 20, "ended_at_ms": 30, "reason": "", "error": ""},
        **{"attempt": 1, "tasks": (), "cells": (), "labels": (), "effects": ()},
    }
    return StoredRun(**{**fields, **changes})


def event(kind: str, at_ms: int, body: Any = None, run_id: RunId = RUN) -> Event:
    return Event(kind, ItemId(1), run_id, at_ms, body)


def test_everything_stands_in_the_order_of_time_and_then_of_the_path() -> None:
    record = StoredRecord("items", 5, b"12345", "", {}, 20)
    letter = DeadLetter(
        *(7, "items", "items", 5, 0, b"", "", {}, 2),
        Diagnosis("ValueError", "it broke", history=((25, "engine-0", "first"),)),
        40,
    )
    moments = compose_timeline([record], [make_run()], [event("item.ingested", 20, {"revision": 3})], [letter])
    assert [(moment.at_ms, moment.title) for moment in moments] == [
        (20, "record appended to the log"),
        (20, "item taken in"),
        (20, "run started"),
        (25, "attempt failed"),
        (30, "run done"),
        (40, "given up as dead letter 7"),
    ]
    assert [moment.text for moment in moments] == [
        "topic items, offset 5, 5 bytes",
        "revision 3, from record 5 of items",
        "plan screen version 2",
        "first",
        "no labels",
        "ValueError: it broke",
    ]
    assert moments[3].actor == "engine-0"


def test_a_run_says_what_it_came_to() -> None:
    label = AppliedLabel("spam", 1.0, "", (), "t", "o", "1")
    effects = (Effect("mailer", "warn", "ann", task="t"), Effect("mailer", "warn", "bob", task="t", mode="on"))
    run = make_run(labels=(label, label), attempt=2, effects=effects)
    told = [(moment.title, moment.text) for moment in compose_timeline([], [run], [], [])]
    assert told == [
        ("run started", "plan screen version 2, attempt 2"),
        ("run done", "labels: spam"),
        ("effect recorded only (shadow)", "warn of ann through mailer, by task t"),
        ("effect to be carried out", "warn of bob through mailer, by task t"),
    ]
    failed = make_run(status="failed", error="it broke", reason="why")
    assert [moment.text for moment in compose_timeline([], [failed], [], [])][1] == "it broke"
    rejected = make_run(status="rejected", reason="why")
    assert [moment.text for moment in compose_timeline([], [rejected], [], [])][1] == "why"


def test_words_of_people_and_unknown_events_are_told_too() -> None:
    events = [
        event("run.ended", 1, {"status": "done"}),
        event("item.ingested", 1, {"revision": 1}, NONE),
        event("label.negated", 2, {"val": "spam", "actor": "ann", "reason": "a quote"}, NONE),
        event("label.applied", 3, {"val": "spam", "actor": "bob", "reason": "no"}, NONE),
        event("review.opened", 4, {"queue": "q"}, NONE),
        event("odd", 5, "text", NONE),
    ]
    moments = compose_timeline([], [], events, [])
    assert [(moment.title, moment.text, moment.actor) for moment in moments] == [
        ("item taken in", "revision 1", ""),
        ("label spam does not hold", "a quote", "ann"),
        ("label spam holds", "no", "bob"),
        ("review.opened", "", ""),
        ("odd", "", ""),
    ]
    assert [moment.body for moment in moments][3:] == [{"queue": "q"}, "text"]


def test_failures_are_told_once_however_many_records_remember_them() -> None:
    first, second = (1, "engine-0", "first"), (3, "engine-1", "second")
    recoveries = [Recovery(2, 1, "ValueError: first", (first,)), Recovery(4, 2, "ValueError: second", (first, second))]
    assert [(moment.at_ms, moment.title, moment.text) for moment in compose_timeline([], [], [], [], recoveries)] == [
        (1, "attempt failed", "first"),
        (2, "set aside for attempt 2", "ValueError: first"),
        (3, "attempt failed", "second"),
        (4, "set aside for attempt 3", "ValueError: second"),
    ]
