"""Forms and bounds of the store of recent items, where the acceptance checks do not reach."""

from __future__ import annotations

import struct

import google_crc32c
import numpy as np
import pytest

from gristmill.domain.errors import DataError, InvariantBroken, UsageError
from gristmill.recent import Event, EventKind, decode_frame, encode_frame, rows_of
from gristmill.recent.core.event import events_of
from gristmill.recent.engine.authors import Authors
from gristmill.recent.engine.index import Index
from gristmill.recent.engine.tombs import Tombstones
from tests.recent.making import ids, mk


def frame_of(*records: bytes, magic: bytes = b"GRRF", version: int = 1) -> bytes:
    head = struct.pack("<4sHHII", magic, version, 0, len(records), 0) + b"".join(records)
    return head + struct.pack("<I", google_crc32c.value(head))


def record_of(bits: int, item: int = 5) -> bytes:
    return struct.pack("<QQIHBB3Q", item, 7, 1_700_000_000, 250, bits, 0, 1, 2, 3)


def test_a_reader_skips_and_counts_kinds_that_it_does_not_know() -> None:
    decoded = decode_frame(frame_of(record_of(0), record_of(6), record_of(1 << 7), record_of(1)))
    assert [event.kind for event in events_of(decoded.rows)] == [EventKind.CREATE, EventKind.DELETE]
    assert decoded.unknown == 2


def test_an_extension_belongs_to_the_event_in_front_of_it() -> None:
    both = 0b1011_000 | 0
    decoded = decode_frame(frame_of(record_of(both), record_of(7), record_of(both), record_of(0)))
    assert decoded.rows["source_item"].tolist() == [1, 0, 0], "an extension that is missing leaves no source"
    assert decode_frame(frame_of(record_of(both))).rows["source_item"].tolist() == [0]


@pytest.mark.parametrize(
    "value",
    [
        b"",
        frame_of(record_of(0))[:-1],
        frame_of(record_of(7)),
        frame_of(record_of(0), magic=b"GRRX"),
        frame_of(record_of(0), version=2),
    ],
)
def test_what_is_no_frame_is_refused(value: bytes) -> None:
    with pytest.raises(DataError):
        decode_frame(value)


@pytest.mark.parametrize(
    "events", [[], [mk(1, 1, 1)] * 501, [Event(item=1, at_ms=-1)], [Event(item=1, at_ms=2**32 * 1_000)]]
)
def test_a_frame_takes_only_what_fits(events: list[Event]) -> None:
    with pytest.raises(UsageError):
        encode_frame(rows_of(events))


def test_an_index_finds_what_was_added_through_growth_removal_and_shrinking() -> None:
    keys = np.arange(1, 40_001, dtype=np.uint64) << np.uint64(40)
    index = Index(lambda rows: keys[rows])
    for start in range(0, 40_000, 1_000):
        rows = np.arange(start, start + 1_000)
        index.add(keys[rows], rows)
    assert index.find(keys).tolist() == list(range(40_000))
    index.remove(keys[:39_900], np.arange(39_900))
    grown = index.nbytes
    index.shrink()
    assert index.nbytes < grown / 50
    assert index.find(keys).tolist() == [-1] * 39_900 + list(range(39_900, 40_000))
    with pytest.raises(InvariantBroken):
        index.remove(keys[:1], np.arange(1))


def test_a_table_of_authors_uses_rows_again_and_says_when_it_is_full() -> None:
    authors = Authors(3)
    rows = authors.find_or_add(ids(5, 6, 5), none=9)
    assert (rows.tolist(), authors.count, authors.room) == ([0, 1, 0], 2, 1)
    authors.drop(rows[:1])
    assert sorted(authors.find_or_add(ids(7, 8), none=9).tolist()) == [0, 2]
    with pytest.raises(InvariantBroken):
        authors.find_or_add(ids(9), none=9)


def test_tombstones_without_room_let_the_first_go_and_tell_it() -> None:
    tombs = Tombstones(4)
    assert tombs.add(ids(1, 2, 3), np.array([50, 60, 70])) == 0
    tombs.forget(ids(2, 9))
    assert tombs.add(ids(3), np.array([10])) == 0
    assert tombs.has(ids(1, 2, 3), now_ms=70).tolist() == [False, False, True], "the longer time counts"
    assert tombs.add(ids(4, 5, 6, 7, 8, 9), np.full(6, 99)) == 4, "1 and 3, then 4 and 5"
    assert (sorted(tombs.ids().tolist()), tombs.count) == ([6, 7, 8, 9], 4)
    assert tombs.expire(now_ms=100, rows_max=3) == 3
    assert tombs.expire(now_ms=100, rows_max=3) == 1
    assert tombs.count == 0
