"""One answer of a task is classified once: an ending, or another attempt."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gristmill import Done, End, Fail, Item, Park, Retry, Skip, cell, task
from gristmill.engine.core.attempts import UNCOUNTED_REPEATS_MAX, Again, Attempts, Failed
from gristmill.plans.operator import Operator


@cell("mood")
class Mood(msgspec.Struct, frozen=True):
    name: str


@cell("tone")
class Tone(msgspec.Struct, frozen=True):
    name: str


@task(attempts=3, waits_ms=[1_000, 2_000])
def mood(item: Item) -> Mood | Skip | End | Retry | Fail:
    return Skip("never called")


@task(attempts=5, waits_ms=[10, 20], retry_on=[OSError])
def gate(item: Item) -> None: ...


def waits(attempts: Attempts, error: Exception, times: int) -> list[int | None]:
    answers = [attempts.on_error(error) for _ in range(times)]
    return [answer.wait_ms if isinstance(answer, Again) else None for answer in answers]


@pytest.mark.parametrize("value", [Skip("why"), End("rejected", "why"), Done(Mood("glad"))])
def test_an_outcome_of_the_signature_is_the_ending(value: Any) -> None:
    assert Attempts(mood).on_value(value) == value


def test_a_plain_result_is_done() -> None:
    assert Attempts(mood).on_value(Mood("glad")) == Done(Mood("glad"))
    assert Attempts(gate).on_value(None) == Done(None)


def test_fail_is_final_whatever_attempts_are_left() -> None:
    assert Attempts(mood).on_value(Fail("no such author")) == Failed("no such author", "Fail")


@pytest.mark.parametrize(
    ("operator", "value", "text"),
    [
        (mood, Tone("dry"), "task 'mood' returned Tone; legal: Mood, Skip, End, Retry, Fail"),
        (mood, None, "task 'mood' returned NoneType; legal: Mood, Skip, End, Retry, Fail"),
        (mood, Done(None), "task 'mood' returned NoneType; legal: Mood, Skip, End, Retry, Fail"),
        (gate, Skip("why"), "task 'gate' returned Skip; legal: None"),
        (gate, False, "task 'gate' returned bool; legal: None"),
    ],
)
def test_an_odd_value_is_answered_with_the_legal_ones(operator: Operator, value: Any, text: str) -> None:
    assert Attempts(operator).on_value(value) == Failed(text, "IllegalReturn")


def test_a_park_that_nobody_declared_is_refused_with_its_reason() -> None:
    answer = Attempts(gate).on_value(Park("wait for a person"))
    assert answer == Failed("Park: wait for a person (only a durable plan can park its run)", "Park")


def test_waits_follow_the_list_and_the_last_attempt_keeps_the_error() -> None:
    attempts = Attempts(mood)
    assert waits(attempts, ValueError("x"), 2) == [1_000, 2_000]
    assert attempts.on_error(ValueError("x")) == Failed("ValueError: x", "ValueError")
    assert attempts.calls == 3


def test_the_last_wait_is_repeated() -> None:
    assert waits(Attempts(gate), OSError("disk"), 5) == [10, 20, 20, 20, None]


def test_an_error_that_is_not_worth_an_attempt_is_final() -> None:
    assert Attempts(gate).on_error(KeyError()) == Failed("KeyError", "KeyError")


def test_an_error_that_cannot_tell_its_text_fails_like_any_other() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise LookupError

    assert Attempts(gate).on_error(Mute()) == Failed("Mute: its text cannot be read: LookupError", "Mute")


def test_a_counted_retry_spends_an_attempt_and_says_its_reason_at_the_end() -> None:
    attempts = Attempts(mood)
    assert attempts.on_value(Retry(70, "busy")) == Again(70, Failed("Retry: busy", "Retry"))
    assert waits(attempts, ValueError("x"), 1) == [2_000]
    assert attempts.on_value(Retry(70)) == Failed("Retry", "Retry")


def test_an_uncounted_retry_spends_none_but_is_bounded() -> None:
    attempts = Attempts(mood)
    for _ in range(UNCOUNTED_REPEATS_MAX):
        assert isinstance(attempts.on_value(Retry(-5, "loading", counted=False)), Again)
    assert waits(attempts, ValueError("x"), 1) == [1_000]
    answer = attempts.on_value(Retry(5, "loading", counted=False))
    assert answer == Failed("Retry: loading (given up after 100 uncounted repeats)", "Retry")
