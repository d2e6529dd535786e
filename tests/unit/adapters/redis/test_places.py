"""Places in a stream and offsets are one to one, and both in the same order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gristmill.adapters.redis.places import TopicKeys, offset_of, place_of

NUMBERS = st.integers(min_value=0, max_value=(1 << 40) - 1)
MILLISECONDS = st.integers(min_value=1 << 40, max_value=(1 << 41) - 1)
SEQUENCES = st.integers(min_value=0, max_value=(1 << 20) - 1)


@given(NUMBERS)
def test_an_offset_of_ours_is_the_number_of_its_place(number: int) -> None:
    assert offset_of(f"{number}-0") == number
    assert offset_of(place_of(number).encode()) == number


@given(MILLISECONDS, SEQUENCES)
def test_a_place_of_others_comes_back(at_ms: int, sequence: int) -> None:
    offset = offset_of(f"{at_ms}-{sequence}")
    assert place_of(offset).lstrip("0") == f"{at_ms}-{sequence}"
    assert offset < 1 << 63


@given(MILLISECONDS, MILLISECONDS, SEQUENCES, SEQUENCES, NUMBERS)
def test_offsets_keep_the_order_of_places(one: int, other: int, first: int, second: int, number: int) -> None:
    is_before = (one, first) < (other, second)
    assert (offset_of(f"{one}-{first}") < offset_of(f"{other}-{second}")) == is_before
    assert number < offset_of(f"{one}-{first}")


@given(NUMBERS, NUMBERS)
def test_places_of_ours_sort_as_text(one: int, other: int) -> None:
    assert (place_of(one) < place_of(other)) == (one < other)


def test_what_lies_before_everything_has_a_place() -> None:
    assert offset_of(place_of(-1)) == 0


def test_all_keys_of_a_topic_share_its_hash_tag() -> None:
    keys = TopicKeys.of("p:", "posts")
    names = [keys.stream, keys.meta, keys.delayed, keys.letters_open, keys.letters_by_record, keys.letters_seen]
    names += [keys.letter(1), keys.token("x"), *keys.group("g").all()]
    assert all("{posts}" in name for name in names)
    assert len(set(names)) == len(names) - 2
