"""A failed record comes again three times, later each time, and is then given up with its history."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gristmill.domain.log import DeadLetter, Delivery, Diagnosis, Lease, NewRecord
from gristmill.engine.core.recovery import (
    EPOCH_MAX,
    GiveUp,
    Origin,
    Recover,
    RecoveryPolicy,
    cut_error_text,
    decide_failure,
    diagnose_crash,
    earlier_places,
    read_origin,
    resubmit,
)

TOPIC = "g.recovery"
FAILURE = Diagnosis(error_class="ValueError", error_text="ValueError: x", plans=("p", "q"), task="t")


def make_delivery(**changes: Any) -> Delivery:
    lease = Lease(changes.pop("topic", "posts"), "g", changes.pop("offset", 17), "engine-1", 1)
    delivery = Delivery(lease, b"{}", "k", {"traceparent": "00"}, 1, 100)
    return msgspec.structs.replace(delivery, **changes)


def decide(delivery: Delivery, *, now_ms: int = 1_000, diagnosis: Diagnosis = FAILURE) -> Recover | GiveUp:
    return decide_failure(
        delivery, diagnosis, recovery_topic=TOPIC, policy=RecoveryPolicy(), owner="engine-1", now_ms=now_ms
    )


def come_again(record: NewRecord, *, offset: int) -> Delivery:
    """The delivery of a recovery record."""
    return make_delivery(
        topic=TOPIC, offset=offset, value=record.value, key=record.key, headers=record.headers, appended_at_ms=9_999
    )


def test_a_first_failure_comes_again_after_half_a_minute() -> None:
    decision = decide(make_delivery(), now_ms=1_000)
    assert isinstance(decision, Recover)
    assert decision.topic == TOPIC
    assert (decision.record.value, decision.record.key, decision.record.due_at_ms) == (b"{}", "k", 31_000)
    assert decision.record.headers["traceparent"] == "00"
    assert decision.record.headers["gristmill-error"] == "ValueError: x"


def test_a_recovery_record_knows_where_it_first_stood() -> None:
    decision = decide(make_delivery())
    assert isinstance(decision, Recover)
    origin = read_origin(come_again(decision.record, offset=99), recovery_topic=TOPIC)
    assert origin == Origin("posts", 17, 100, 1, ("p", "q"), ((1_000, "engine-1", "ValueError: x"),))


def test_after_three_recoveries_the_record_is_given_up_with_its_history() -> None:
    delivery, delays_ms = make_delivery(), []
    for number in range(3):
        decision = decide(delivery, now_ms=number)
        assert isinstance(decision, Recover)
        delays_ms.append(decision.record.due_at_ms - number)
        delivery = come_again(decision.record, offset=100 + number)
    assert delays_ms == [30_000, 120_000, 480_000]
    last = decide(delivery, now_ms=7)
    assert isinstance(last, GiveUp)
    assert last.diagnosis.error_text == "ValueError: x"
    assert [entry[0] for entry in last.diagnosis.history] == [0, 1, 2, 7]


def test_a_recovered_record_knows_every_place_where_it_stood_before() -> None:
    delivery = make_delivery()
    assert earlier_places(read_origin(delivery, recovery_topic=TOPIC), delivery.lease) == []
    for number in range(3):
        decision = decide(delivery)
        assert isinstance(decision, Recover)
        delivery = come_again(decision.record, offset=100 + number)
        lease = delivery.lease
        places = earlier_places(read_origin(delivery, recovery_topic=TOPIC), lease)
        stood = [("posts", 17), *((TOPIC, offset) for offset in range(100, 100 + number))]
        assert [(place.topic, place.offset) for place in places] == stood
        assert all(place.group == lease.group and place.epoch == EPOCH_MAX for place in places)


def test_headers_of_recovery_count_on_the_recovery_topic_only() -> None:
    forged = make_delivery(headers={"gristmill-origin-topic": "other", "gristmill-recovery": "3"})
    assert read_origin(forged, recovery_topic=TOPIC) == Origin("posts", 17, 100)
    decision = decide(forged)
    assert isinstance(decision, Recover)
    assert decision.record.headers["gristmill-origin-topic"] == "posts"


@pytest.mark.parametrize(
    "broken",
    [
        {},
        {"gristmill-origin-offset": "seventeen"},
        {"gristmill-history": "{"},
        {"gristmill-history": "[[1]]"},
    ],
)
def test_a_record_that_somebody_put_on_the_recovery_topic_stands_for_itself(broken: dict[str, str]) -> None:
    decision = decide(make_delivery())
    assert isinstance(decision, Recover)
    headers = decision.record.headers | broken if broken else {}
    delivery = make_delivery(topic=TOPIC, offset=5, headers=headers)
    assert read_origin(delivery, recovery_topic=TOPIC) == Origin(TOPIC, 5, 100)


def test_a_failure_of_the_whole_record_names_no_plan() -> None:
    decision = decide(make_delivery(), diagnosis=Diagnosis(error_class="lost", error_text="gone"))
    assert isinstance(decision, Recover)
    assert read_origin(come_again(decision.record, offset=1), recovery_topic=TOPIC).plans == ()


def test_a_crashed_record_is_diagnosed_with_its_deaths() -> None:
    diagnosis = diagnose_crash(make_delivery(attempt=4), recovery_topic=TOPIC)
    assert diagnosis.error_class == "crashed"
    assert "3 times" in diagnosis.error_text


def test_error_texts_are_cut_between_characters_and_can_always_be_encoded() -> None:
    text = cut_error_text("é" * 2_000 + "\udc80")
    assert len(text.encode()) <= 2_048
    assert set(text) == {"é"}
    assert cut_error_text("\udc80") == "?"


def test_the_history_stays_bounded() -> None:
    history = tuple((number, "e", "x") for number in range(40))
    decision = decide(make_delivery())
    assert isinstance(decision, Recover)
    headers = decision.record.headers | {"gristmill-history": msgspec.json.encode(history).decode()}
    again = decide(make_delivery(topic=TOPIC, headers=headers))
    assert isinstance(again, Recover)
    assert len(msgspec.json.decode(again.record.headers["gristmill-history"])) == 16


def make_letter(delivery: Delivery) -> DeadLetter:
    lease = delivery.lease
    return DeadLetter(
        7, lease.topic, lease.group, lease.offset, 0, delivery.value, delivery.key, delivery.headers, 1, GIVEN_UP, 5_000
    )


GIVEN_UP = msgspec.structs.replace(FAILURE, history=((1_000, "engine-1", "ValueError: x"),))


def test_an_edited_record_stands_for_the_one_that_was_given_up_on_its_own_topic() -> None:
    record = resubmit(make_letter(make_delivery()), b"[]", recovery_topic=TOPIC)
    assert (record.value, record.key, record.due_at_ms) == (b"[]", "k", 0)
    assert record.headers["traceparent"] == "00"
    origin = read_origin(come_again(record, offset=99), recovery_topic=TOPIC)
    assert origin == Origin("posts", 17, 5_000, 1, ("p", "q"), GIVEN_UP.history, is_edited=True)


def test_an_edited_record_that_was_recovered_before_keeps_its_origin_and_begins_its_recoveries_anew() -> None:
    first = decide(make_delivery())
    assert isinstance(first, Recover)
    second = decide(come_again(first.record, offset=99))
    assert isinstance(second, Recover)
    letter = make_letter(come_again(second.record, offset=120))
    again = come_again(resubmit(letter, b"[]", recovery_topic=TOPIC), offset=130)
    origin = read_origin(again, recovery_topic=TOPIC)
    assert origin == Origin("posts", 17, 100, 1, ("p", "q"), GIVEN_UP.history, (99, 120), is_edited=True)
    failed = decide(again)
    assert isinstance(failed, Recover)
    assert read_origin(come_again(failed.record, offset=140), recovery_topic=TOPIC).is_edited
