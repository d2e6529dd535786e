"""The ways in which sources write a moment."""

from typing import Any

import pytest

from gristmill.intake.times import TimeUnreadable, parse_time_ms

NOON = 1706702400000


@pytest.mark.parametrize(
    "value",
    [
        "2024-01-31T12:00:00Z",
        "2024-01-31 12:00:00",
        "2024-01-31T13:00:00+01:00",
        "Wed, 31 Jan 2024 12:00:00 GMT",
        "Wed Jan 31 12:00:00 +0000 2024",
        "2024/01/31 12:00",
        "31.01.2024 12:00",
        1706702400,
        1706702400.0001,
        "1706702400",
        1706702400000,
        1706702400000000,
        1706702400000000000,
    ],
    ids=repr,
)
def test_one_moment_is_read_from_many_forms(value: Any) -> None:
    assert parse_time_ms(value) == NOON


@pytest.mark.parametrize(
    "value", ["soon", "", "12345", [], True, 1e300, float("nan"), float("inf"), "9" * 40, "01/02/2024"]
)
def test_what_cannot_be_told_is_refused(value: Any) -> None:
    with pytest.raises(TimeUnreadable):
        parse_time_ms(value)


def test_a_day_alone_is_its_start_in_utc() -> None:
    assert parse_time_ms("20240131") == parse_time_ms("2024-01-31") == NOON - 12 * 3_600_000


@pytest.mark.parametrize(
    "text", ["9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59.9999Z"]
)
def test_a_time_that_its_offset_takes_out_of_the_calendar_is_none(text: str) -> None:
    with pytest.raises(TimeUnreadable, match="outside the years"):
        parse_time_ms(text)
