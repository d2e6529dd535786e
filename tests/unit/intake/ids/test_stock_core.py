"""Which segment ids come from, when the next one is wanted, and how large it is."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC
from zoneinfo import ZoneInfo

import pytest

from gristmill.domain.ids import IDS_PER_DAY, Segment
from gristmill.intake.ids.stock_core import IdStock, Moment, compute_step, read_moment

NOON = Moment(1_700_000_000_000, 20_231_114, 43_200_000)
NEXT_0014 = Moment(1_700_000_000_000 + 44_040_000, 20_231_115, 840_000)
NEXT_0015 = Moment(1_700_000_000_000 + 44_100_000, 20_231_115, 900_000)


def numbers(ids: Sequence[int]) -> list[int]:
    return [item_id % IDS_PER_DAY for item_id in ids]


def stocked(*segments: Segment, now: Moment = NOON) -> IdStock:
    stock = IdStock()
    for segment in segments:
        stock.on_fetched(segment)
        stock.draw(1, now=now)
    return stock


def test_an_empty_stock_gives_nothing_and_wants_a_segment() -> None:
    stock = IdStock()
    assert stock.draw(5, now=NOON) == []
    assert stock.wants_segment(now=NOON)


def test_the_next_segment_is_wanted_from_a_fifth_on_and_only_once() -> None:
    stock = stocked(Segment(20_231_114, 0, 10))
    assert not stock.wants_segment(now=NOON)
    assert numbers(stock.draw(1, now=NOON)) == [1]
    assert stock.wants_segment(now=NOON)
    stock.on_fetched(Segment(20_231_114, 10, 20))
    assert not stock.wants_segment(now=NOON)


def test_the_spare_is_begun_when_the_first_is_used_up() -> None:
    stock = stocked(Segment(20_231_114, 0, 4))
    stock.on_fetched(Segment(20_231_114, 8, 12))
    assert numbers(stock.draw(5, now=NOON)) == [1, 2, 3, 8, 9]
    assert numbers(stock.draw(5, now=NOON)) == [10, 11]


@pytest.mark.parametrize(
    ("size", "lasted_ms", "then"),
    [
        (1_000, 299_999, 2_000),
        (4_000, 300_000, 4_000),
        (4_000, 1_200_000, 4_000),
        (4_000, 1_200_001, 2_000),
        (1_000, 10**9, 1_000),
        (600_000, 0, 1_000_000),
    ],
)
def test_a_step_doubles_below_five_minutes_and_is_halved_above_twenty(size: int, lasted_ms: int, then: int) -> None:
    assert compute_step(size, lasted_ms=lasted_ms) == then


def test_the_step_follows_how_long_the_segment_in_use_lasted() -> None:
    stock = stocked(Segment(20_231_114, 0, 1_000))
    stock.on_fetched(Segment(20_231_114, 1_000, 2_000))
    stock.draw(1_000, now=NOON)
    assert stock.step == 2_000
    stock.on_fetched(Segment(20_231_114, 2_000, 3_000))
    stock.draw(1_000, now=NOON)
    assert stock.step == 2_000


def test_segments_of_yesterday_are_used_until_a_quarter_past_midnight() -> None:
    stock = stocked(Segment(20_231_114, 0, 10))
    assert numbers(stock.draw(1, now=NEXT_0014)) == [1]
    assert stock.draw(1, now=NEXT_0015) == []
    assert stock.wants_segment(now=NEXT_0015)
    stock.on_fetched(Segment(20_231_115, 0, 10))
    assert stock.draw(1, now=NEXT_0015) == [20_231_115 * IDS_PER_DAY]


def test_after_midnight_a_spare_of_today_is_fetched_although_there_is_one_of_yesterday() -> None:
    stock = stocked(Segment(20_231_114, 0, 4))
    stock.on_fetched(Segment(20_231_114, 4, 8))
    assert stock.wants_segment(now=NEXT_0014)
    stock.on_fetched(Segment(20_231_115, 0, 10))
    assert not stock.wants_segment(now=NEXT_0014)
    assert stock.draw(4, now=NEXT_0014)[-1] == 20_231_115 * IDS_PER_DAY


def test_a_spare_of_yesterday_is_given_up_too() -> None:
    stock = stocked(Segment(20_231_114, 0, 4))
    stock.on_fetched(Segment(20_231_114, 4, 8))
    assert stock.draw(1, now=NEXT_0015) == []


def test_a_segment_of_a_day_ahead_of_a_clock_set_back_stays() -> None:
    stock = stocked(Segment(20_231_115, 0, 10), now=NEXT_0015)
    assert numbers(stock.draw(1, now=NOON)) == [1]
    assert numbers(stock.draw(1, now=Moment(NOON.at_ms, 20_231_114, 900_000))) == [2]


def test_the_day_begins_in_the_zone_of_ids() -> None:
    at_ms = 1_700_000_000_000  # 22:13:20 UTC
    assert read_moment(at_ms, UTC) == Moment(at_ms, 20_231_114, 80_000_000)
    assert read_moment(at_ms, ZoneInfo("Asia/Shanghai")) == Moment(at_ms, 20_231_115, 22_400_000)
