import pytest

from gristmill.domain.front.times import is_calendar_time, write_second, write_time

LAST_MS = 253_402_300_799_999


def test_a_time_is_written_in_utc_to_the_millisecond() -> None:
    assert write_time(0) == "1970-01-01T00:00:00.000Z"
    assert write_time(1_764_489_600_007) == "2025-11-30T08:00:00.007Z"


def test_a_time_to_the_second_is_cut_and_not_rounded() -> None:
    assert write_second(1_764_489_600_999) == "2025-11-30T08:00:00Z"


@pytest.mark.parametrize(("at_ms", "expected"), [(-1, False), (0, True), (LAST_MS, True), (LAST_MS + 1, False)])
def test_a_calendar_ends_with_the_year_9999(at_ms: int, expected: bool) -> None:
    assert is_calendar_time(at_ms) is expected


def test_far_times_keep_their_milliseconds() -> None:
    assert write_time(10_912_968_487_317) == "2315-10-27T12:08:07.317Z"
