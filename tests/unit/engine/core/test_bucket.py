"""A bucket lets through its rate, with a burst of one second's worth."""

import pytest

from gristmill.engine.core.bucket import TokenBucket

SECOND = 1_000_000


def test_a_new_bucket_holds_one_seconds_worth() -> None:
    assert TokenBucket(5, now_us=0).available(now_us=0) == 5


def test_a_slow_rate_still_holds_a_whole_token() -> None:
    bucket = TokenBucket(0.5, now_us=0)
    assert bucket.available(now_us=0) == 1
    bucket.take(1, now_us=0)
    assert bucket.available(now_us=SECOND) == 0
    assert bucket.available(now_us=2 * SECOND) == 1


def test_an_idle_bucket_fills_no_further() -> None:
    bucket = TokenBucket(5, now_us=0)
    assert bucket.available(now_us=100 * SECOND) == 5


def test_the_long_run_is_held_to_the_rate() -> None:
    bucket, taken = TokenBucket(5, now_us=0), 0
    for now_us in range(0, 10 * SECOND + 1, 1_000):
        count = bucket.available(now_us=now_us)
        bucket.take(count, now_us=now_us)
        taken += count
    assert taken == 55


@pytest.mark.parametrize(("rate", "due_in_ms"), [(5.0, 201), (1_000.0, 2), (0.5, 2_001)])
def test_an_empty_bucket_says_when_the_next_token_is_due(rate: float, due_in_ms: int) -> None:
    bucket = TokenBucket(rate, now_us=0)
    bucket.take(bucket.available(now_us=0), now_us=0)
    assert bucket.due_in_ms(now_us=0) == due_in_ms
    assert bucket.available(now_us=due_in_ms * 1_000) >= 1


def test_a_bucket_with_a_token_is_due_now() -> None:
    assert TokenBucket(5, now_us=0).due_in_ms(now_us=0) == 0
