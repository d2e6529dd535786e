"""What is skipped after a restore is never less than what the lost store can have issued, however often that is."""

from hypothesis import given
from hypothesis import strategies as st

from gristmill.domain.ids import IDS_PER_DAY, decide_segment
from gristmill.domain.upkeep.loss import MARGIN, PER_MS_MAX, Loss, skip_ids, skip_numbers, skip_positions

DAY_MS = 86_400_000
TODAY = 20261130


def loss(*, elapsed_ms: int = 0, since_midnight_ms: int = 0, day: int = TODAY) -> Loss:
    return Loss(elapsed_ms=elapsed_ms, day=day, since_midnight_ms=since_midnight_ms, namespaces=("items",))


@given(st.integers(0, DAY_MS), st.integers(0, DAY_MS))
def test_a_second_restore_begins_above_whatever_the_first_one_can_have_issued(first_ms: int, later_ms: int) -> None:
    first_ms, later_ms = sorted((first_ms, later_ms))
    _, begun = skip_ids((TODAY, 5_000), loss(since_midnight_ms=first_ms))
    issued = begun + (later_ms - first_ms) * PER_MS_MAX
    assert skip_ids((TODAY, 5_000), loss(since_midnight_ms=later_ms))[1] >= issued


@given(st.integers(0, DAY_MS - 1))
def test_a_restored_store_has_ids_left_for_the_rest_of_its_day(since_midnight_ms: int) -> None:
    row = skip_ids(None, loss(since_midnight_ms=since_midnight_ms))
    assert decide_segment(row, day=TODAY, step=1_000_000).day == TODAY
    assert IDS_PER_DAY - row[1] >= 100_000_000


def test_a_day_on_which_the_lost_store_may_have_worked_does_not_begin_at_nothing() -> None:
    day, begun = skip_ids((20261128, 7_000), loss(since_midnight_ms=3_600_000))
    assert (day, begun) == (TODAY, 3_600_000 * PER_MS_MAX + MARGIN)


def test_a_counter_never_goes_back() -> None:
    assert skip_ids((TODAY, 99_999_999_999), loss(since_midnight_ms=1)) == (TODAY, 99_999_999_999)
    assert skip_ids((TODAY + 1, 7_000), loss(since_midnight_ms=1)) == (TODAY + 1, 7_000 + MARGIN)


@given(st.integers(0, 10 * 365 * DAY_MS), st.integers(0, 10 * 365 * DAY_MS))
def test_positions_and_numbers_grow_with_the_time_that_has_passed(one_ms: int, other_ms: int) -> None:
    one_ms, other_ms = sorted((one_ms, other_ms))
    earlier, later = loss(elapsed_ms=one_ms), loss(elapsed_ms=other_ms)
    assert skip_positions(later) - skip_positions(earlier) == (other_ms - one_ms) * PER_MS_MAX
    assert skip_numbers(later) >= skip_numbers(earlier) >= 1_000
    assert skip_positions(later) < 2**53
