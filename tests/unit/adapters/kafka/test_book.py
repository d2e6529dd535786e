"""Who holds which record of the partitions of one process, copies and order by key included."""

from __future__ import annotations

import pytest

from gristmill.adapters.kafka.core.book import Book, Fetched, Held
from gristmill.adapters.kafka.core.naming import pack_offset
from gristmill.adapters.kafka.core.tiers import Ordering
from gristmill.adapters.kafka.core.tracker import OffsetTracker
from gristmill.domain.log import Lease

MAIN = ("t", 0)
RETRY = ("t.g.retry.5s", 0)


def make_book(ordering: Ordering = "none", *, is_guarded: bool = False) -> Book:
    book = Book("t", "g", 100, ordering, is_guarded)
    for partition in (MAIN, RETRY):
        book.assign(partition, OffsetTracker(0))
    return book


def fetch(book: Book, offset: int, *, key: str = "", due_at_ms: int = 0) -> bool:
    record = Fetched(MAIN, offset, pack_offset(offset, 0), b"%d" % offset, key, {}, 1_000 + offset, due_at_ms=due_at_ms)
    return book.on_fetched(record, now_ms=0)


def fetch_copy(book: Book, offset: int, *, of: int, attempt: int, generation: int = 0, due_at_ms: int = 0) -> bool:
    record = Fetched(RETRY, offset, pack_offset(of, 0), b"%d" % of, "", {}, 1_000, attempt, generation, due_at_ms, True)
    return book.on_fetched(record, now_ms=0)


def claim(book: Book, *, limit: int = 10, now_ms: int = 0) -> list[tuple[Lease, Held]]:
    return book.claim(owner="me", limit=limit, now_ms=now_ms, until_ms=now_ms + 50)


def offsets(claimed: list[tuple[Lease, Held]]) -> list[int]:
    return [int(held.fetched.value) for _, held in claimed]


def base(book: Book, partition: tuple[str, int] = MAIN) -> int:
    return book.trackers[partition].base


def test_records_end_in_any_order_and_the_base_follows_the_lowest() -> None:
    book = make_book()
    for offset in range(3):
        fetch(book, offset)
    first, second, third = [lease for lease, _ in claim(book)]
    assert book.end(third)
    assert book.end(second)
    assert base(book) == 0
    assert book.end(first)
    assert base(book) == 3
    assert not book.end(first)


def test_starts_are_where_the_next_owner_finds_them() -> None:
    book = make_book()
    fetch(book, 0)
    [(lease, held)] = claim(book)
    assert (held.attempt, book.trackers[MAIN].starts_of(0)) == (1, 1)
    book.unclaim(lease)
    assert book.trackers[MAIN].starts_of(0) == 0
    claim(book)
    committed, text, _ = book.trackers[MAIN].to_commit()
    heir = Book("t", "g", 200)
    heir.assign(MAIN, OffsetTracker(committed, text))
    fetch(heir, 0)
    [(_, held)] = claim(heir)
    assert held.attempt == 2


def test_a_copy_takes_the_place_of_a_record_that_moves_whichever_is_first() -> None:
    book = make_book()
    fetch(book, 0)
    [(lease, _)] = claim(book)
    book.begin_move(lease)
    assert fetch_copy(book, 0, of=0, attempt=1, due_at_ms=500)
    assert base(book) == 1
    assert not book.move(lease)
    assert claim(book, now_ms=499) == []
    [(again, held)] = claim(book, now_ms=500)
    assert (held.attempt, again.offset) == (2, lease.offset)
    assert book.end(again)
    assert base(book, RETRY) == 1


def test_a_copy_of_what_is_worked_on_or_ended_is_left_alone() -> None:
    book = make_book()
    fetch(book, 0)
    [(lease, _)] = claim(book)
    assert not fetch_copy(book, 0, of=0, attempt=1)
    book.end(lease)
    assert not fetch_copy(book, 1, of=0, attempt=1)
    assert base(book, RETRY) == 2
    assert fetch_copy(book, 2, of=0, attempt=0, generation=1)


def test_of_two_copies_the_later_one_counts() -> None:
    book = make_book()
    fetch_copy(book, 0, of=9, attempt=1)
    assert fetch_copy(book, 1, of=9, attempt=2)
    assert not fetch_copy(book, 2, of=9, attempt=1)
    [(_, held)] = claim(book)
    assert held.attempt == 3
    assert base(book, RETRY) == 1


def test_a_partition_that_leaves_hands_nothing_out_and_keeps_what_runs() -> None:
    book = make_book()
    for offset in range(3):
        fetch(book, offset)
    [(lease, _)] = claim(book, limit=1)
    book.withdraw({MAIN})
    assert claim(book) == []
    assert not fetch(book, 3)
    assert book.leased_in({MAIN}) == 1
    assert book.release(lease, visible_at_ms=0, counted=True)
    assert book.leased_in({MAIN}) == 0
    assert base(book) == 0
    book.unassign(MAIN)
    assert book.find(lease) is None
    assert book.tally(now_ms=0) == (0, 0, 0, 0)
    assert book.fresh_bytes == 0


def test_with_order_by_key_one_record_of_a_key_is_out_at_a_time() -> None:
    book = make_book("key")
    for offset, key in enumerate(["a", "b", "a", "", "a"]):
        fetch(book, offset, key=key)
    claimed = claim(book)
    assert offsets(claimed) == [0, 1, 3]
    first, *others = [lease for lease, _ in claimed]
    assert all(book.end(lease) for lease in others)
    book.release(first, visible_at_ms=900, counted=True)
    assert claim(book, now_ms=40) == []
    [(first, _)] = claim(book, now_ms=900)
    assert first.offset == pack_offset(0, 0)
    book.end(first)
    assert offsets(claim(book, now_ms=900)) == [2]
    book.unassign(MAIN)
    assert book.records == {}


def test_first_claims_are_told_from_later_ones_where_starts_are_committed() -> None:
    book = make_book(is_guarded=True)
    fetch(book, 0)
    [(first, _)] = claim(book)
    book.release(first, visible_at_ms=0, counted=False)
    [(second, _)] = claim(book)
    assert first.epoch == 1
    assert second.epoch > 100
    fetch_copy(book, 0, of=5, attempt=0, generation=1)
    assert claim(book)[0][0].epoch > second.epoch


def test_what_is_of_no_partition_of_ours_is_left_alone() -> None:
    book = make_book()
    stranger = Fetched(("t", 5), 0, pack_offset(0, 5), b"", "", {}, 0)
    assert not book.on_fetched(stranger, now_ms=0)
    lease = Lease("t", "g", 1, "me", 1)
    assert not book.release(lease, visible_at_ms=0, counted=True)
    assert not book.renew(lease, until_ms=1)
    book.begin_move(lease)


def test_leases_are_renewed_and_counted_and_the_kinds_take_turns() -> None:
    book = make_book()
    for offset in range(4):
        fetch(book, offset)
    [(lease, held)] = claim(book, limit=1)
    assert held.is_live(49)
    assert not held.is_live(50)
    assert book.renew(lease, until_ms=200)
    assert book.tally(now_ms=60) == (3, 1, 0, 1_000)
    assert offsets(claim(book, limit=1, now_ms=60)) == [1]
    book.release(lease, visible_at_ms=60, counted=True)
    assert offsets(claim(book, limit=1, now_ms=60)) == [0]
    assert offsets(claim(book, limit=1, now_ms=60)) == [2]


def test_no_more_endings_are_remembered_than_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gristmill.adapters.kafka.core.book.ENDED_MAX", 1)
    book = make_book()
    for offset in range(2):
        fetch(book, offset)
    for lease, _ in claim(book):
        book.end(lease)
    assert fetch_copy(book, 0, of=0, attempt=1)
    assert not fetch_copy(book, 1, of=1, attempt=1)
    assert not book.move(Lease("t", "g", 1, "me", 1))


def test_a_fresh_record_that_a_later_copy_replaces_is_not_handed_out_twice() -> None:
    book = make_book("key")
    fetch(book, 0, key="k")
    assert fetch_copy(book, 0, of=0, attempt=1)
    assert [held.attempt for _, held in claim(book)] == [2]
    assert base(book) == 1


def test_a_lease_that_is_over_goes_to_the_next_unless_its_owner_was_first() -> None:
    book = make_book()
    fetch(book, 0)
    fetch(book, 1)
    (first, _), (second, _) = claim(book)
    [(again, held)] = book.claim(owner="you", limit=1, now_ms=50, until_ms=90)
    assert (again.offset, held.attempt) == (first.offset, 2)
    assert not book.end(first)
    assert book.end(second)
    assert book.claim(owner="you", limit=5, now_ms=60, until_ms=90) == []


def test_a_copy_may_replace_a_record_in_the_middle_of_its_line() -> None:
    book = make_book("key")
    for offset in range(3):
        fetch(book, offset, key="k")
    copy = Fetched(RETRY, 0, pack_offset(1, 0), b"1", "k", {}, 1_000, 1, 0, 0, True)
    assert book.on_fetched(copy, now_ms=0)
    assert offsets(claim(book)) == [0]
    assert list(book._lines["k"]) == [pack_offset(offset, 0) for offset in (0, 2, 1)]
