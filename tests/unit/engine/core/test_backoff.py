"""Pauses double from one second to one minute and start again after a success."""

from gristmill.engine.core.backoff import Backoff, compute_backoff_ms


def test_pauses_double_up_to_a_minute() -> None:
    pauses_s = [compute_backoff_ms(failures) // 1_000 for failures in range(1, 9)]
    assert pauses_s == [1, 2, 4, 8, 16, 32, 60, 60]


def test_a_part_that_fails_for_days_still_waits_a_minute() -> None:
    assert compute_backoff_ms(10_000) == 60_000


def test_a_fresh_part_is_ready() -> None:
    backoff = Backoff()
    assert not backoff.is_failing
    assert backoff.ready_in_ms(now_ms=0) == 0


def test_after_a_failure_the_next_try_is_due_later() -> None:
    backoff = Backoff()
    assert backoff.on_failure(now_ms=5_000) == 1_000
    assert backoff.is_failing
    assert backoff.ready_in_ms(now_ms=5_400) == 600
    assert backoff.ready_in_ms(now_ms=9_000) == 0
    assert backoff.on_failure(now_ms=9_000) == 2_000


def test_a_success_starts_again_from_the_shortest_pause() -> None:
    backoff = Backoff(min_ms=10, max_ms=20)
    assert [backoff.on_failure(now_ms=0) for _ in range(3)] == [10, 20, 20]
    backoff.on_success()
    assert not backoff.is_failing
    assert backoff.ready_in_ms(now_ms=0) == 0
    assert backoff.on_failure(now_ms=0) == 10
