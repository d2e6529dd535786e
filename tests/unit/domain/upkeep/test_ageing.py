"""The time that ages are counted by follows the clock, and never leaps with it."""

from hypothesis import given
from hypothesis import strategies as st

from gristmill.domain.upkeep.ageing import CATCH_UP, LEAP_MS, follow_clock

NOW_MS = 1_796_000_000_000
HOUR_MS = 3_600_000
TEN_YEARS_MS = 3_650 * LEAP_MS


def test_as_long_as_the_clock_goes_as_time_does_it_is_the_clock() -> None:
    assert follow_clock(NOW_MS, None, elapsed_ms=None) == NOW_MS
    assert follow_clock(NOW_MS, NOW_MS - LEAP_MS, elapsed_ms=None) == NOW_MS
    assert follow_clock(NOW_MS, NOW_MS - 30_000, elapsed_ms=30_000) == NOW_MS
    assert follow_clock(NOW_MS, NOW_MS + 5, elapsed_ms=30_000) == NOW_MS


def test_a_clock_that_is_ten_years_ahead_makes_hardly_anything_old() -> None:
    ahead = NOW_MS + TEN_YEARS_MS
    first = follow_clock(ahead, NOW_MS, elapsed_ms=None)
    assert first == NOW_MS + LEAP_MS
    assert follow_clock(ahead, first, elapsed_ms=HOUR_MS) == first + CATCH_UP * HOUR_MS
    assert follow_clock(NOW_MS, first, elapsed_ms=2 * HOUR_MS) == NOW_MS, "set right, it comes back"


def test_a_clock_that_was_years_behind_for_a_moment_is_caught_up_with() -> None:
    reached = follow_clock(0, NOW_MS, elapsed_ms=60_000)
    assert follow_clock(NOW_MS, reached, elapsed_ms=60_000) == NOW_MS


@given(st.integers(0, 1 << 50), st.integers(0, 1 << 50), st.integers(-5, 1 << 40))
def test_it_comes_nearer_and_never_past(now_ms: int, reached_ms: int, elapsed_ms: int) -> None:
    following = follow_clock(now_ms, reached_ms, elapsed_ms=elapsed_ms)
    assert min(now_ms, reached_ms) <= following <= max(now_ms, reached_ms)
    assert abs(following - reached_ms) <= CATCH_UP * max(0, elapsed_ms)
