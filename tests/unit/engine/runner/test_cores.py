"""Events in, decisions out; no loop runs here."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from gristmill.domain.errors import DataError, OutcomeUnknown, Unavailable
from gristmill.domain.front.trace import read_trace_id
from gristmill.domain.outcome import Done, End, Fail, Park, Retry, Skip
from gristmill.engine.runner.core.breaker import Breaker
from gristmill.engine.runner.core.failures import PER_RECORD_MAX, RECORDS_MAX, Failures
from gristmill.engine.runner.core.holding import HeldLeases
from gristmill.engine.runner.core.verdict import (
    Accept,
    Budget,
    Bury,
    GiveBack,
    Verdict,
    compute_draw,
    decide_end,
    decide_start,
    judge,
)
from gristmill.engine.runner.core.waiting import FULL_DELAY_MS, WaitingRecords
from tests.unit.engine.runner.samples import deliver, lease_of

BUDGET = Budget(3, (5_000, 60_000, 600_000), 0.2, 1_000)
NOW_MS = 1_000_000


def end(value: Any, *, attempt: int = 1, budget: Budget = BUDGET, error_class: str = "", draw: float = 0.5) -> Verdict:
    return decide_end(value, attempt, budget, error_class=error_class, draw=draw, now_ms=NOW_MS)


@pytest.mark.parametrize("value", [None, Done(), Done(7), Skip("no text"), End("rejected", "spam")])
def test_what_ended_is_accepted(value: object) -> None:
    assert end(value) == Accept("done")


def test_a_retry_waits_as_the_handler_says_or_as_the_group_does() -> None:
    assert end(Retry(70, "busy")) == GiveBack(70, True, "retry", "busy")
    assert end(Retry(0)) == GiveBack(5_000, True, "retry", "")
    assert end(Retry(0), attempt=2) == GiveBack(60_000, True, "retry", "")
    assert end(Retry(0), attempt=2, draw=0.0) == GiveBack(48_000, True, "retry", "")


def test_the_last_run_has_no_retry() -> None:
    assert end(Retry(70, "busy"), attempt=3) == Bury("Retry", "busy", "dead")
    assert end(Retry(0), attempt=4) == Bury("Retry", "failed 4 times", "dead")
    assert end(Retry(0), attempt=99, budget=msgspec.structs.replace(BUDGET, attempts=0)) == GiveBack(
        600_000, True, "retry", ""
    )


def test_a_group_that_does_not_retry_buries_at_once() -> None:
    once = msgspec.structs.replace(BUDGET, attempts=0, may_retry=False)
    assert end(Retry(0), budget=once) == Bury("Retry", "failed, and the group does not retry", "dead")
    assert end(Retry(0, "KeyError: 'a'"), budget=once, error_class="KeyError") == Bury(
        "KeyError", "KeyError: 'a'", "dead"
    )
    assert end(Retry(0, counted=False), budget=once) == GiveBack(1_000, False, "dependency", "")


def test_a_dependency_spends_nothing_however_often() -> None:
    assert end(Retry(30, "down", counted=False), attempt=3) == GiveBack(30, False, "dependency", "down")
    assert end(Retry(0, counted=False), attempt=3) == GiveBack(1_000, False, "dependency", "")


def test_parked_until_a_time_comes_again_and_without_one_waits_for_a_person() -> None:
    assert end(Park("quota", until_ms=NOW_MS + 50)) == GiveBack(50, False, "parked", "quota")
    assert end(Park("quota", until_ms=NOW_MS - 50)) == GiveBack(0, False, "parked", "quota")
    assert end(Park("unsure")) == Bury("Park", "unsure", "parked")


def test_an_odd_value_is_answered_with_the_legal_ones() -> None:
    verdict = end(True)
    assert verdict == Bury(
        "IllegalReturn", "the handler returned bool; legal: None, Done, Skip, End, Retry, Park, Fail", "poison"
    )


def test_a_failure_is_poison() -> None:
    assert end(Fail("unreadable")) == Bury("Fail", "unreadable", "poison")
    assert end(Fail("DataError: x"), error_class="DataError") == Bury("DataError", "DataError: x", "poison")


class _Unreadable(Exception):
    def __str__(self) -> str:
        raise KeyError("text")


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (Unavailable("database"), Retry(0, "Unavailable: database", counted=False)),
        (OutcomeUnknown("database"), Retry(0, "OutcomeUnknown: database", counted=False)),
        (ConnectionResetError("gone"), Retry(0, "ConnectionResetError: gone", counted=False)),
        (DataError("field"), Fail("DataError: field")),
        (msgspec.ValidationError("field"), Fail("ValidationError: field")),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), Fail),
        (ValueError("x"), Retry(0, "ValueError: x")),
        (TimeoutError("x"), Retry(0, "TimeoutError: x")),
        (asyncio.CancelledError(), Retry(0, "CancelledError: ")),
        (_Unreadable(), Retry(0, "_Unreadable: its text cannot be read: KeyError")),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_exception_is_classified_once(raised: BaseException, expected: object) -> None:
    outcome, name = judge(raised)
    assert name == type(raised).__name__
    if expected is Fail:
        assert isinstance(outcome, Fail)
    else:
        assert outcome == expected


def test_a_record_whose_runs_are_spent_is_buried_without_another() -> None:
    assert decide_start(deliver(1, attempt=3), BUDGET) is None
    assert decide_start(deliver(1, attempt=99), msgspec.structs.replace(BUDGET, attempts=0)) is None
    verdict = decide_start(deliver(1, attempt=4), BUDGET)
    assert verdict is not None
    assert verdict.error_class == "crashed"
    assert "delivered 4 times, and 3 runs are allowed" in verdict.text


def test_no_delays_are_no_wait() -> None:
    assert msgspec.structs.replace(BUDGET, delays_ms=()).compute_delay_ms(1, draw=0.9) == 0


def test_a_draw_follows_from_its_parts() -> None:
    draws = {compute_draw(("t", "g", offset, 1)) for offset in range(1_000)}
    assert len(draws) > 990
    assert 0.0 <= min(draws) < 0.05
    assert 0.95 < max(draws) < 1.0
    assert compute_draw(("t", 1)) == compute_draw(("t", 1))


def test_five_failures_in_a_row_stop_the_claiming() -> None:
    breaker = Breaker()
    assert [breaker.on_dependency_down(now_ms=0) for _ in range(4)] == [False] * 4
    assert not breaker.on_answer()
    assert [breaker.on_dependency_down(now_ms=0) for _ in range(4)] == [False] * 4
    assert breaker.limit(10, now_ms=0) == 10
    assert breaker.due_in_ms(now_ms=0) == 0
    assert breaker.on_dependency_down(now_ms=0)
    assert breaker.is_open
    assert breaker.limit(10, now_ms=4_999) == 0
    assert breaker.due_in_ms(now_ms=4_999) == 1


def test_one_record_probes_every_five_seconds_until_one_gets_an_answer() -> None:
    breaker = Breaker()
    for _ in range(5):
        breaker.on_dependency_down(now_ms=0)
    assert breaker.limit(10, now_ms=5_000) == 1
    assert breaker.limit(0, now_ms=5_000) == 0
    breaker.on_claimed(now_ms=5_000)
    assert breaker.limit(10, now_ms=5_001) == 0
    assert not breaker.on_dependency_down(now_ms=5_100)
    assert breaker.limit(10, now_ms=10_000) == 1
    assert breaker.on_answer()
    assert breaker.limit(10, now_ms=10_000) == 10
    breaker.on_claimed(now_ms=10_000)
    assert not breaker.is_open


def test_a_lease_is_relied_upon_until_a_sixth_of_it_is_left() -> None:
    held = HeldLeases()
    assert held.unsafe_in_ms(now_ms=0) is None
    held.add(lease_of(1), lease_ms=600, asked_at_ms=1_000)
    held.add(lease_of(2), lease_ms=6_000, asked_at_ms=1_000)
    assert held.by_length() == {600: [lease_of(1)], 6_000: [lease_of(2)]}
    assert held.unsafe_in_ms(now_ms=1_000) == 500
    assert held.take_unsafe(now_ms=1_499) == []
    assert held.take_unsafe(now_ms=1_500) == [lease_of(1)]
    assert len(held) == 1
    assert held.unsafe_in_ms(now_ms=99_000) == 0


def test_only_a_definite_no_loses_a_lease_before_its_end() -> None:
    held = HeldLeases()
    for offset in (1, 2, 3):
        held.add(lease_of(offset), lease_ms=600, asked_at_ms=0)
    assert held.drop(lease_of(3))
    assert not held.drop(lease_of(3))
    answers = [(lease_of(1), True), (lease_of(2), False), (lease_of(3), False)]
    assert held.on_renewed(answers, asked_at_ms=200) == [lease_of(2)]
    assert held.take_unsafe(now_ms=699) == []
    assert held.on_renewed([(lease_of(1), True)], asked_at_ms=100) == []
    assert held.take_unsafe(now_ms=699) == []
    assert held.take_unsafe(now_ms=700) == [lease_of(1)]


def test_failures_are_remembered_within_bounds() -> None:
    failures = Failures()
    for number in range(PER_RECORD_MAX + 5):
        failures.add(0, (number, "me", "no"))
    assert [at_ms for at_ms, _, _ in failures.take(0)] == list(range(5, PER_RECORD_MAX + 5))
    assert failures.take(0) == ()
    for offset in range(RECORDS_MAX + 1):
        failures.add(offset, (0, "me", "no"))
    assert failures.take(0) == ()
    assert failures.take(RECORDS_MAX) == ((0, "me", "no"),)


@pytest.mark.parametrize(
    ("header", "trace_id"),
    [
        ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "0af7651916cd43dd8448eb211c80319c"),
        ("cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more", "0af7651916cd43dd8448eb211c80319c"),
        ("00-00000000000000000000000000000000-b7ad6b7169203331-01", ""),
        ("00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01", ""),
        ("nonsense", ""),
        ("", ""),
    ],
)
def test_the_trace_is_read_from_the_headers(header: str, trace_id: str) -> None:
    assert read_trace_id({"traceparent": header}) == trace_id


def take(waiting: WaitingRecords, *, now_ms: int = 0) -> int | None:
    delivery = waiting.take(now_ms=now_ms)
    return None if delivery is None else delivery.lease.offset


def test_without_keys_records_begin_as_they_came() -> None:
    waiting = WaitingRecords("none", grace_ms=100)
    for offset in (3, 1):
        assert waiting.add(deliver(offset, key="k"), now_ms=0) is None
    assert waiting.ready_count == 2
    assert (take(waiting), take(waiting), take(waiting)) == (3, 1, None)
    waiting.end(deliver(3, key="k"), due_at_ms=5)
    assert waiting.held_ms_max(now_ms=9) == 0
    assert waiting.add(deliver(4), now_ms=0) is None
    assert waiting.drop(deliver(4))
    assert not waiting.drop(deliver(4))
    waiting.add(deliver(5), now_ms=0)
    assert [one.lease.offset for one in waiting.take_all(due_at_ms=9)] == [5]


def test_one_record_of_a_key_is_at_work_and_others_pass() -> None:
    waiting = WaitingRecords("key", grace_ms=100)
    for offset, key in ((1, "a"), (2, "a"), (3, "b"), (4, "")):
        waiting.add(deliver(offset, key=key), now_ms=0)
    assert waiting.ready_count == 3
    assert [take(waiting) for _ in range(4)] == [4, 1, 3, None]
    waiting.end(deliver(4))
    assert waiting.held_ms_max(now_ms=70) == 70
    waiting.end(deliver(1, key="a"))
    assert take(waiting) == 2
    waiting.end(deliver(2, key="a"))
    waiting.end(deliver(3, key="b"))
    assert (take(waiting), waiting.held_ms_max(now_ms=99)) == (None, 0)


def test_a_record_in_delay_holds_its_key_back_until_it_came_again() -> None:
    waiting = WaitingRecords("key", grace_ms=100)
    waiting.add(deliver(1, key="a"), now_ms=0)
    assert take(waiting) == 1
    waiting.end(deliver(1, key="a"), due_at_ms=50)
    waiting.add(deliver(2, key="a"), now_ms=10)
    waiting.add(deliver(9, key="b"), now_ms=10)
    assert (take(waiting), take(waiting)) == (9, None)
    waiting.add(deliver(1, key="a", attempt=2), now_ms=60)
    assert take(waiting) == 1
    waiting.end(deliver(1, key="a"))
    assert take(waiting) == 2


def test_an_earlier_record_passes_a_later_one_in_delay() -> None:
    waiting = WaitingRecords("key", grace_ms=100)
    waiting.add(deliver(5, key="a"), now_ms=0)
    assert take(waiting) == 5
    waiting.end(deliver(5, key="a"), due_at_ms=50)
    waiting.add(deliver(4, key="a"), now_ms=0)
    assert take(waiting) == 4


def test_a_record_that_went_elsewhere_is_waited_for_no_longer_than_its_grace() -> None:
    waiting = WaitingRecords("key", grace_ms=100)
    waiting.add(deliver(1, key="a"), now_ms=0)
    take(waiting)
    waiting.end(deliver(1, key="a"), due_at_ms=50)
    waiting.add(deliver(2, key="a"), now_ms=0)
    waiting.tick(now_ms=149)
    assert take(waiting) is None
    waiting.resume(now_ms=149)
    waiting.tick(now_ms=248)
    assert take(waiting) is None
    waiting.tick(now_ms=249)
    assert take(waiting) == 2


def test_more_records_of_a_key_than_are_held_come_again_later() -> None:
    waiting = WaitingRecords("key", grace_ms=100, held_per_key_max=2, held_max=3)
    waiting.add(deliver(1, key="a"), now_ms=0)
    take(waiting)
    waiting.end(deliver(1, key="a"), due_at_ms=5_000)
    assert waiting.add(deliver(2, key="a"), now_ms=0) is None
    assert waiting.add(deliver(3, key="a"), now_ms=0) is None
    assert waiting.add(deliver(4, key="a"), now_ms=0) == 5_000
    assert waiting.add(deliver(5, key="b"), now_ms=0) is None
    assert waiting.add(deliver(6, key="c"), now_ms=0) == FULL_DELAY_MS
    assert take(waiting) == 5


def test_what_has_not_begun_can_be_taken_back_or_lost() -> None:
    waiting = WaitingRecords("key", grace_ms=100)
    for offset in (1, 2, 3):
        waiting.add(deliver(offset, key="a"), now_ms=0)
    waiting.add(deliver(7), now_ms=0)
    assert not waiting.drop(deliver(9, key="b"))
    assert waiting.drop(deliver(1, key="a"))
    assert not waiting.drop(deliver(1, key="a"))
    assert [one.lease.offset for one in waiting.take_all(due_at_ms=20)] == [7, 2, 3]
    assert take(waiting) is None
    waiting.add(deliver(3, key="a"), now_ms=30)
    assert take(waiting) is None
    waiting.add(deliver(2, key="a"), now_ms=30)
    assert take(waiting) == 2
