"""A question is spared only while its answer cannot have changed."""

from __future__ import annotations

from gristmill.adapters.redis.core.quiet import ASK_AGAIN_MS, QuietTopics


def quiet_after(due_in_ms: int) -> QuietTopics:
    quiet = QuietTopics()
    quiet.note_empty("t", "g", quiet.mark("t"), now_ms=0, due_in_ms=due_in_ms)
    return quiet


def test_nothing_is_spared_before_the_first_answer() -> None:
    assert not QuietTopics().is_quiet("t", "g", now_ms=0)


def test_a_group_stays_quiet_until_it_is_asked_again_anyway() -> None:
    quiet = quiet_after(60_000)
    assert quiet.is_quiet("t", "g", now_ms=ASK_AGAIN_MS - 1)
    assert not quiet.is_quiet("t", "g", now_ms=ASK_AGAIN_MS)
    assert not quiet.is_quiet("t", "other", now_ms=0)


def test_a_record_that_comes_due_ends_the_quiet() -> None:
    quiet = quiet_after(100)
    assert quiet.is_quiet("t", "g", now_ms=99)
    assert not quiet.is_quiet("t", "g", now_ms=100)


def test_a_ring_ends_the_quiet_of_its_topic() -> None:
    quiet = quiet_after(60_000)
    quiet.ring("other")
    assert quiet.is_quiet("t", "g", now_ms=1)
    quiet.ring("t")
    assert not quiet.is_quiet("t", "g", now_ms=1)


def test_a_ring_that_may_have_been_missed_ends_every_quiet() -> None:
    quiet = quiet_after(60_000)
    quiet.ring_all()
    assert not quiet.is_quiet("t", "g", now_ms=1)


def test_a_ring_during_the_question_counts() -> None:
    quiet = QuietTopics()
    mark = quiet.mark("t")
    quiet.ring("t")
    quiet.note_empty("t", "g", mark, now_ms=0, due_in_ms=60_000)
    assert not quiet.is_quiet("t", "g", now_ms=1)


def test_where_nobody_can_tell_nothing_is_spared() -> None:
    assert not quiet_after(-1).is_quiet("t", "g", now_ms=0)
