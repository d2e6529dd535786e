"""The rules of a query (specification, section 12)."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from gristmill.domain.errors import UsageError
from gristmill.recent import EventKind, ItemKind, LatestRequest, Place, RecentStore, StoreLimits, pack_answer
from tests.recent.making import ENGINES, NOW_MS, apply, gone, ids, latest, mk, store

over_engines = pytest.mark.parametrize("engine", ENGINES)


@over_engines
def test_AC_RS_038_excluded_items_make_room_for_the_next(engine: str) -> None:
    recent = store(engine, originals=5)
    apply(recent, [mk(number, 7, 100 - number) for number in range(1, 11)])
    assert latest(recent, 7) == [10, 9, 8, 7, 6]
    assert latest(recent, 7, exclude=ids(10, 9, 8)) == [7, 6, 5, 4, 3]


@over_engines
def test_AC_RS_039_a_thread_shows_the_answers_that_can_be_followed(engine: str) -> None:
    recent, stranger, me, followed, unfollowed = store(engine), 1, 2, 3, 4
    root: dict[str, Any] = {"conversation": 10}
    apply(
        recent,
        [
            mk(10, stranger, 90, **root),
            mk(11, followed, 80, kind="reply", answered_item=10, answered_author=stranger, **root),
            mk(12, unfollowed, 70, kind="reply", answered_item=10, answered_author=stranger, **root),
            mk(13, followed, 60, kind="reply", answered_item=11, answered_author=followed, **root),
            mk(14, followed, 50, kind="reply", answered_item=12, answered_author=unfollowed, **root),
            mk(15, followed, 40, kind="reply", answered_item=13, answered_author=followed, **root),
            mk(16, followed, 30, kind="repost", source_item=99, source_author=me),
            mk(17, 5, 20, kind="reply", answered_item=10, answered_author=stranger, **root),
        ],
    )
    assert latest(recent, followed, 5, requester=me) == [17, 13, 11]
    assert latest(recent, followed, 5, requester=8) == [17, 16, 13, 11], "only one's own echo is left out"
    assert latest(recent, followed, 5, unfollowed, requester=me) == [17, 14, 13, 12, 11]


@over_engines
def test_AC_RS_040_each_queue_has_its_limit_and_a_request_may_lower_it(engine: str) -> None:
    recent = store(engine)
    apply(recent, [mk(number, 7, 500 - number) for number in range(1, 61)])
    apply(recent, [mk(number, 7, 500 - number, kind="repost", source_item=999) for number in range(101, 141)])
    originals, reposts = list(range(60, 10, -1)), list(range(140, 110, -1))
    assert latest(recent, 7) == [*reposts, *originals]
    assert latest(recent, 7, originals=5, secondary=0) == originals[:5]
    assert latest(recent, 7, originals=500, secondary=500) == [*reposts, *originals]


@over_engines
def test_AC_RS_042_lists_and_answers_have_bounds(engine: str) -> None:
    recent = store(engine)
    apply(recent, [mk(number, number, 5_000 - number % 5_000) for number in range(1, 10_002)])
    authors = np.arange(1, 10_002, dtype=np.uint64)
    answer = recent.latest(LatestRequest(authors=authors, results=1_000_000), now_ms=NOW_MS)
    assert (len(answer.rows), answer.truncated) == (5_000, True)
    assert 10_001 not in answer.rows["author"]
    assert latest(recent, 5, 5, 5) == [5]
    assert len(latest(recent, *range(1, 4_000))) == 1_200
    with pytest.raises(UsageError, match="'clever'"):
        latest(recent, 5, algorithm="clever")


@over_engines
def test_AC_RS_043_an_answer_that_was_broken_off_is_marked_and_in_order(engine: str) -> None:
    recent = store(engine)
    apply(recent, [mk(number, number % 40, 900 - number) for number in range(1, 801)])
    request, looks = LatestRequest(authors=np.arange(40, dtype=np.uint64)), itertools.count()
    answer = recent.latest(request, now_ms=NOW_MS, is_over=lambda: next(looks) == 3)
    assert answer.partial
    items = answer.rows["item"].tolist()
    assert items == sorted(items, reverse=True)
    assert len(items) == 3 * 40
    assert not recent.latest(request, now_ms=NOW_MS).partial


@over_engines
def test_AC_RS_044_pages_neither_repeat_nor_miss_while_items_arrive(engine: str) -> None:
    recent = store(engine)
    apply(recent, [mk(number, number % 60, 4_000 - number // 3) for number in range(1, 3_001)])
    pages: list[int] = []
    place: Place | None = None
    for arrived in range(5_000, 5_500):
        answer = recent.latest(
            LatestRequest(authors=np.arange(60, dtype=np.uint64), results=100, before=place), now_ms=NOW_MS
        )
        if not len(answer.rows):
            break
        pages += answer.rows["item"].tolist()
        place = Place(int(answer.rows["at_ms"][-1]), int(answer.rows["item"][-1]))
        apply(recent, [mk(arrived, arrived % 60, 0)])
    assert pages == list(range(3_000, 0, -1))


@over_engines
def test_AC_RS_044_what_is_new_since_a_place_is_found_alone(engine: str) -> None:
    recent = store(engine)
    apply(recent, [mk(number, 7, 100 - number) for number in range(1, 11)])
    assert latest(recent, 7, since=Place(mk(8, 7, 92).at_ms, 8)) == [10, 9]


@over_engines
def test_AC_RS_041_deleted_and_hidden_entries_do_not_use_up_the_scan(engine: str) -> None:
    recent = store(engine, scan=3)
    apply(recent, [mk(number, 7, 100 - number) for number in range(1, 11)])
    apply(recent, [gone(10), gone(9), gone(8, kind=EventKind.HIDE)])
    assert latest(recent, 7) == [7, 6, 5]
    apply(recent, [gone(7, kind=EventKind.LABEL, set=0b10)])
    assert latest(recent, 7, tags_none=0b10) == [6, 5], "what a filter leaves out was looked at"
    assert latest(recent, 7, tags_any=0b10) == [7]


@over_engines
def test_AC_RS_041_kinds_can_be_chosen_and_some_authors_never_are(engine: str) -> None:
    limits = StoreLimits(items_max=100)
    recent = RecentStore(limits, now_ms=NOW_MS, engine=ENGINES[engine](limits), never_serve=frozenset({8}))
    apply(recent, [mk(1, 7, 4), mk(2, 7, 3, kind="reply"), mk(3, 7, 2, kind="repost"), mk(4, 8, 1)])
    assert latest(recent, 7, 8) == [3, 2, 1]
    assert latest(recent, 7, kinds=ItemKind.ORIGINAL) == [1]
    assert latest(recent, 7, kinds=ItemKind.REPLY | ItemKind.REPOST) == [3, 2]


@over_engines
def test_AC_RS_045_a_packed_answer_holds_columns(engine: str) -> None:
    recent = store(engine)
    apply(recent, [mk(2, 7, 4, tag=9), mk(3, 8, 3, kind="reply", answered_item=2, answered_author=7)])
    packed = pack_answer(recent.latest(LatestRequest(authors=ids(7, 8)), now_ms=NOW_MS))
    assert packed[:4] == b"GRRA"
    assert len(packed) == 16 + 2 * 68
    columns = np.frombuffer(packed, "<u8", 2 * 8, 16).reshape(8, 2).tolist()
    at_ms = [NOW_MS - 3_000, NOW_MS - 4_000]
    assert columns == [[3, 2], [8, 7], at_ms, [2, 0], [7, 0], [0, 0], [0, 0], [0, 0]]
    assert packed[-8:] == bytes([0, 0, 0, 0, 1, 0, 0, 9])


def test_AC_RS_041_authors_are_told_with_their_newest_item() -> None:
    recent = store()
    apply(recent, [mk(1, 7, 9), mk(2, 7, 4, kind="repost"), mk(3, 8, 5)])
    assert recent.newest(ids(8, 9, 7), now_ms=NOW_MS).tolist() == [NOW_MS - 5_000, 0, NOW_MS - 4_000]
