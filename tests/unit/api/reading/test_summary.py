"""Counts and bars of what was found."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from gristmill.api.reading.summary_core import BARS_MAX, Known, compute_bars, summarise

TIMES = st.lists(st.integers(-(2**62), 2**62) | st.integers(0, 10**7), max_size=30)


@given(TIMES)
def test_bars_hold_every_time_once_without_gaps(times: list[int]) -> None:
    bars = compute_bars(times)
    assert len(bars) <= BARS_MAX
    assert sum(bar.count for bar in bars) == len(times)
    for bar, following in pairwise(bars):
        assert bar.end_ms == following.start_ms
    for bar in bars:
        assert bar.count == sum(bar.start_ms <= at_ms < bar.end_ms for at_ms in times)


def test_bars_begin_where_a_clock_does() -> None:
    assert [bar.start_ms for bar in compute_bars([61_000, 3_600_000])][:2] == [0, 300_000]


def test_the_most_frequent_values_come_first_and_the_rest_is_counted() -> None:
    items = [Known(0, {"label": ("a", "a", f"l{number:02}")}) for number in range(20)]
    summary = summarise(items)
    assert summary.counts["label"][:2] == [("a", 20), ("l00", 1)]
    assert (len(summary.counts["label"]), summary.others["label"]) == (12, 9)


def test_nothing_has_nothing_in_common() -> None:
    assert summarise([]).counts == {}
