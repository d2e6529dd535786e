"""Ids only grow, whatever clocks, steps and restarts do."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from gristmill.domain.ids import IDS_PER_DAY, ItemId, Segment, SegmentBuffer, day_of, decide_segment

days = st.integers(2024_01_01, 2024_01_05)
steps = st.integers(1, 5)
Row = tuple[int, int] | None


def take(row: Row, day: int, step: int) -> tuple[Segment, Row]:
    """Take a segment as the store does: the row moves on before anybody sees the segment."""
    segment = decide_segment(row, day=day, step=step)
    return segment, (segment.day, segment.stop)


@given(st.lists(st.tuples(days, steps), min_size=1, max_size=40))
def test_segments_never_overlap_and_days_never_go_back(calls: list[tuple[int, int]]) -> None:
    row: Row = None
    segments = []
    for day, step in calls:
        segment, row = take(row, day, step)
        segments.append(segment)
        assert segment.day >= day or segment.day == max(earlier for earlier, _ in calls[: len(segments)])
    for first, then in pairwise(segments):
        assert (first.day, first.stop) <= (then.day, then.start) or first.day < then.day


@given(st.lists(st.tuples(st.integers(0, 2), days, steps, st.integers(0, 6)), max_size=40))
def test_every_owner_issues_a_rising_sequence_and_no_id_twice(calls: list[tuple[int, int, int, int]]) -> None:
    row: Row = None
    buffers = [SegmentBuffer() for _ in range(3)]
    issued: list[list[ItemId]] = [[] for _ in range(3)]
    for owner, day, step, wanted in calls:
        for _ in range(wanted):
            while not (found := buffers[owner].take(1)):
                segment, row = take(row, day, step)
                buffers[owner].fill(segment)
            issued[owner] += found
    for sequence in issued:
        assert all(first < then for first, then in pairwise(sequence))
        assert all(day_of(first) <= day_of(then) for first, then in pairwise(sequence))
    everything = [found for sequence in issued for found in sequence]
    assert len(set(everything)) == len(everything)


def test_a_clock_over_midnight_and_back_raises_the_day_once() -> None:
    row: Row = None
    buffer = SegmentBuffer()
    issued: list[ItemId] = []
    for day in [20240101] * 3 + [20240102] * 3 + [20240101] * 3 + [20240102] * 3:
        segment, row = take(row, day, 4)
        buffer.fill(segment)
        issued += buffer.take(4)
    assert len(issued) == 48
    assert all(first < then for first, then in pairwise(issued))
    seen = [day_of(found) for found in issued]
    assert seen == sorted(seen)
    assert sum(first != then for first, then in pairwise(seen)) == 1


def test_a_hundred_million_ids_fit_into_a_day_in_order() -> None:
    step, wanted = 10_000, 10**8
    row: Row = None
    ends: list[int] = []
    for _ in range(wanted // step):
        segment, row = take(row, 20240101, step)
        buffer = SegmentBuffer()
        buffer.fill(segment)
        [first] = buffer.take(1)
        ends += [first, first + step - 1]
    assert ends == sorted(ends)
    assert len(ends) == 2 * wanted // step
    assert row == (20240101, wanted)
    assert wanted < IDS_PER_DAY
