"""How records, copies and dead letters are written into headers and read back."""

from __future__ import annotations

import pytest

from gristmill.adapters.kafka.core.book import Fetched, Held
from gristmill.adapters.kafka.core.naming import Names, pack_offset
from gristmill.adapters.kafka.core.wire import (
    RawHeaders,
    ToWrite,
    dead_key,
    read_dead,
    read_record,
    write_again,
    write_copy,
    write_dead,
)
from gristmill.domain.errors import UsageError
from gristmill.domain.log import Diagnosis, Lease

RETRY = "t.g.retry.5s"
DIAGNOSIS = Diagnosis("ValueError", "no", plans=("plan",), history=((1, "me", "no"),))


def held_record(*, generation: int = 0) -> Held:
    origin = pack_offset(41, 2)
    fetched = Fetched(("t", 2), 41, origin, b"value", "key", {"h": "1"}, 700, attempt=1, generation=generation)
    return Held(fetched, attempt=3)


def raw(record: ToWrite) -> RawHeaders:
    return [(name, value.encode()) for name, value in record.headers.items()]


def read(headers: RawHeaders, *, is_copy: bool, key: bytes | None = b"key") -> Fetched | None:
    place = (RETRY, 0) if is_copy else ("t", 2)
    return read_record(place, 5, value=b"value", key=key, headers=headers, at_ms=900, is_copy=is_copy)


def test_a_copy_stands_for_the_record_that_it_was_made_of() -> None:
    copy = write_copy(held_record(), RETRY, topic="t", due_at_ms=5_000, now_ms=900)
    found = read(raw(copy), is_copy=True)
    assert found is not None
    assert (found.origin, found.partition, found.kafka_offset) == (pack_offset(41, 2), (RETRY, 0), 5)
    assert (found.attempt, found.generation, found.due_at_ms, found.appended_at_ms) == (3, 0, 5_000, 700)
    assert (found.value, found.key, found.headers) == (b"value", "key", {"h": "1"})


def test_headers_of_ours_on_a_record_itself_are_not_believed_but_for_its_time() -> None:
    copy = write_copy(held_record(), RETRY, topic="t", due_at_ms=5_000, now_ms=900)
    found = read(raw(copy), is_copy=False)
    assert found is not None
    assert (found.origin, found.attempt, found.due_at_ms, found.appended_at_ms) == (pack_offset(5, 2), 0, 5_000, 900)


def test_a_copy_that_names_no_origin_is_none_of_ours() -> None:
    assert read([], is_copy=True) is None
    assert read([("gm-origin", b"t/x/y")], is_copy=True) is None


def test_what_foreign_producers_write_is_read_as_it_can_be() -> None:
    found = read([("text", "as it is"), ("none", None), ("gm-due", b"soon")], is_copy=False, key=b"\xff")
    assert found is not None
    assert (found.headers, found.due_at_ms, found.key) == ({"text": "as it is", "none": ""}, 0, "\\xff")


def test_a_dead_letter_comes_back_and_may_become_a_record_again() -> None:
    lease = Lease("t", "g", pack_offset(41, 2), "me", 7)
    written = write_dead(lease, held_record(generation=1), DIAGNOSIS, "dead", now_ms=900)
    assert written.key == dead_key("t", "g", offset=lease.offset, generation=1) == "t/2/41|g|1"
    letter = read_dead(12, value=b"value", headers=raw(written))
    assert letter is not None
    assert (letter.dead_letter_id, letter.topic, letter.group, letter.offset) == (12, "t", "g", lease.offset)
    assert (letter.generation, letter.attempt, letter.diagnosis, letter.headers) == (1, 3, DIAGNOSIS, {"h": "1"})
    again = read(raw(write_again(letter, RETRY, now_ms=950)), is_copy=True)
    assert again is not None
    assert (again.origin, again.attempt, again.generation) == (lease.offset, 0, 2)
    assert read_dead(1, value=b"", headers=[]) is None


def test_headers_of_others_that_look_like_ours_mean_nothing() -> None:
    headers: RawHeaders = [("gm-due", b"99999999999999"), ("gm-attempt", b"3"), ("trace", b"x")]
    found = read_record(
        ("raw.news", 0), 5, value=None, key=b"\xff", headers=headers, at_ms=900, is_copy=False, is_foreign=True
    )
    assert found is not None
    assert (found.due_at_ms, found.attempt, found.headers, found.value) == (0, 0, {"trace": "x"}, b"")


def test_a_prefix_that_kafka_does_not_take_is_refused() -> None:
    with pytest.raises(UsageError, match=r"a b\.g\.t"):
        Names("a b.").group("t", "g")
