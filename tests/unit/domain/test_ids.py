"""Item ids carry their day, only grow, and fit 64 bits; run ids follow from a record and a plan."""

import pytest

from gristmill.domain.errors import InvariantBroken, UsageError
from gristmill.domain.ids import IDS_PER_DAY, Segment, SegmentBuffer, compute_run_id, day_of, decide_segment


def test_the_first_segment_of_a_day_starts_at_zero() -> None:
    assert decide_segment(None, day=20240101, step=100) == Segment(20240101, 0, 100)
    assert decide_segment((20240101, 700), day=20240102, step=100) == Segment(20240102, 0, 100)


def test_a_clock_set_back_keeps_the_day_of_the_store() -> None:
    assert decide_segment((20240102, 700), day=20240101, step=100) == Segment(20240102, 700, 800)


def test_a_full_day_is_refused() -> None:
    assert decide_segment((20240101, IDS_PER_DAY - 5), day=20240101, step=5).stop == IDS_PER_DAY
    with pytest.raises(InvariantBroken, match="ids of a day are used up: 20240101"):
        decide_segment((20240101, IDS_PER_DAY - 5), day=20240101, step=6)


@pytest.mark.parametrize("step", [0, -1])
def test_a_segment_holds_at_least_one_id(step: int) -> None:
    with pytest.raises(UsageError, match="step of an id segment"):
        decide_segment(None, day=20240101, step=step)


def test_a_buffer_issues_its_segment_and_then_nothing() -> None:
    buffer = SegmentBuffer()
    assert (buffer.take(1), buffer.left, buffer.day) == ([], 0, 0)
    buffer.fill(Segment(20240101, 3, 5))
    assert (buffer.left, buffer.day) == (2, 20240101)
    assert buffer.take(1) == [2024010100000000003]
    assert buffer.take(2) == [2024010100000000004]
    assert buffer.take(2) == []


def test_a_segment_that_goes_backwards_is_refused() -> None:
    buffer = SegmentBuffer()
    buffer.fill(Segment(20240102, 10, 20))
    for segment in (Segment(20240102, 10, 20), Segment(20240102, 19, 30), Segment(20240101, 30, 40)):
        with pytest.raises(InvariantBroken, match="goes backwards"):
            buffer.fill(segment)


def test_an_id_has_nineteen_digits_that_start_with_its_day_and_fits_64_bits() -> None:
    buffer = SegmentBuffer()
    buffer.fill(Segment(92221231, IDS_PER_DAY - 1, IDS_PER_DAY))
    [issued] = buffer.take(1)
    assert issued < 2**63
    assert (str(issued)[:8], len(str(issued)), day_of(issued)) == ("92221231", 19, 92221231)


def test_a_run_id_is_the_same_whenever_the_record_comes_again() -> None:
    first = compute_run_id(generator="g", topic="t", offset=7, plan="p")
    assert first == compute_run_id(generator="g", topic="t", offset=7, plan="p")
    assert len(first) == 32
    others = {
        compute_run_id(generator="g", topic="t", offset=8, plan="p"),
        compute_run_id(generator="g", topic="t", offset=7, plan="q"),
        compute_run_id(generator="gt", topic="", offset=7, plan="p"),
        compute_run_id(generator="g", topic="t7", offset=7, plan="p"),
    }
    assert first not in others
    assert len(others) == 4


def test_a_name_that_is_no_valid_text_still_gives_an_id() -> None:
    assert len(compute_run_id(generator="g", topic="\ud800", offset=0, plan="p")) == 32
