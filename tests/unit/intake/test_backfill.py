"""Packed ids: what is one, what is dropped, and how they are gathered."""

import struct
from collections import Counter

from gristmill.intake.backfill import IdBatcher, read_packed_ids


def pack(*ids: int) -> bytes:
    return struct.pack(f"<{len(ids)}q", *ids)


def test_an_id_that_is_not_above_zero_is_dropped_alone() -> None:
    dropped: Counter[str] = Counter()
    assert read_packed_ids(pack(1, 0, -5, 2**62), dropped) == [1, 2**62]
    assert dropped == {"bad_id": 2}


def test_a_value_of_odd_length_is_dropped_as_a_whole() -> None:
    dropped: Counter[str] = Counter()
    assert read_packed_ids(pack(1, 2) + b"x", dropped) == []
    assert dropped == {"bad_value_len": 1}


def test_an_empty_value_holds_no_id_and_no_fault() -> None:
    dropped: Counter[str] = Counter()
    assert read_packed_ids(b"", dropped) == []
    assert not dropped


def test_ids_of_many_values_are_gathered_by_the_hundred() -> None:
    batcher = IdBatcher()
    assert batcher.add(pack(*range(1, 61))) == []
    (first,) = batcher.add(pack(*range(61, 121)))
    assert first == tuple(range(1, 101))
    assert batcher.flush() == [tuple(range(101, 121))]
    assert batcher.flush() == []


def test_a_long_value_fills_several_batches() -> None:
    assert [len(batch) for batch in IdBatcher().add(pack(*range(1, 251)))] == [100, 100]
