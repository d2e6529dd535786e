"""Wire forms of the store of recent items, and what each kind of event does (specification, sections 3, 5, 7, 10)."""

from __future__ import annotations

import itertools
import random

import pytest

from gristmill.domain.errors import DataError
from gristmill.recent import Event, EventKind, Flag, decode_frame, encode_frame, rows_of
from gristmill.recent.core.event import events_of
from tests.recent.making import ENGINES, NOW_MS, apply, gone, ids, latest, mk, store

over_engines = pytest.mark.parametrize("engine", ENGINES)


def random_events(count: int) -> list[Event]:
    draw = random.Random(5)
    events = []
    for number in range(count):
        kind = draw.choice(list(EventKind))
        is_item = kind in (EventKind.CREATE, EventKind.UNDELETE)
        flags = draw.randrange(8) if is_item else 0
        is_repost, is_reply = bool(flags & Flag.REPOST), bool(flags & Flag.REPLY)
        related = draw.randrange(1, 2**64)
        events.append(
            Event(
                kind=kind,
                item=draw.randrange(1, 2**64),
                author=draw.randrange(2**64),
                at_ms=draw.randrange(2**32 * 1_000),
                flags=flags,
                tag=draw.randrange(256) if is_item else 0,
                answered_item=related if is_reply else 0,
                answered_author=number if is_reply else 0,
                source_item=related if is_repost else 0,
                source_author=number if is_repost else 0,
                conversation=related if is_item else 0,
                set=draw.randrange(2**16) if kind == EventKind.LABEL else 0,
                clear=draw.randrange(2**16) if kind == EventKind.LABEL else 0,
                reason=draw.randrange(2**16) if kind == EventKind.HIDE else 0,
            )
        )
    return events


def test_AC_RS_005_events_come_out_of_a_frame_as_they_went_in() -> None:
    events = random_events(1_000)
    decoded = [decode_frame(encode_frame(rows_of(events[start : start + 500]))) for start in (0, 500)]
    assert [event for frame in decoded for event in events_of(frame.rows)] == events
    assert [frame.unknown for frame in decoded] == [0, 0]


def test_AC_RS_005_a_flipped_byte_is_one_failure() -> None:
    frame = encode_frame(rows_of(random_events(20)))
    for place in range(len(frame)):
        damaged = bytearray(frame)
        damaged[place] ^= 1 << place % 8
        with pytest.raises(DataError):
            decode_frame(bytes(damaged))


@over_engines
def test_AC_RS_006_what_is_hidden_comes_back_and_what_was_deleted_can_be_undeleted(engine: str) -> None:
    recent = store(engine)
    apply(recent, [mk(1, 7, 10), mk(2, 7, 20)])
    apply(recent, [gone(1, kind=EventKind.HIDE, reason=3)])
    assert latest(recent, 7) == [2]
    assert latest(recent, 7, include_hidden=True) == [1, 2]
    apply(recent, [gone(1, kind=EventKind.RESTORE)])
    assert (latest(recent, 7), recent.sizes().tombstones) == ([1, 2], 0)
    apply(recent, [gone(1)])
    assert (latest(recent, 7), recent.sizes().tombstones) == ([2], 1)
    back = mk(1, 7, 10)
    apply(recent, [Event(kind=EventKind.UNDELETE, item=1, author=7, at_ms=back.at_ms)])
    assert (latest(recent, 7), recent.sizes().tombstones) == ([1, 2], 0)
    assert recent.tally.outcomes == recent.tally.read


@over_engines
def test_AC_RS_006_one_id_follows_the_log_around_an_undeletion_in_one_batch(engine: str) -> None:
    recent = store(engine)
    apply(recent, [mk(1, 7, 10), gone(1), mk(1, 7, 10, kind="original"), gone(1, kind=EventKind.UNDELETE, author=7)])
    assert latest(recent, 7) == [1]
    apply(recent, [gone(1, kind=EventKind.UNDELETE, author=7), gone(1)])
    assert latest(recent, 7) == []


@over_engines
def test_AC_RS_006_a_decision_waits_for_its_item_and_outlives_its_deletion(engine: str) -> None:
    recent = store(engine, early_decisions_max=2)
    apply(recent, [gone(number, kind=EventKind.HIDE) for number in (3, 2, 1)])
    apply(recent, [gone(1, kind=EventKind.LABEL, set=0b11), gone(1, kind=EventKind.LABEL, set=0b100, clear=0b1)])
    apply(recent, [mk(number, 7, number) for number in (1, 2, 3)])
    assert latest(recent, 7) == [3], "only so many are waited for"
    assert recent.tally.counts["decisions_forgotten"] == 1
    assert recent.get(ids(1), now_ms=NOW_MS)["labels"].tolist() == [0b110]
    apply(recent, [gone(1), gone(1, kind=EventKind.UNDELETE, author=7)])
    assert latest(recent, 7) == [3]
    assert latest(recent, 7, include_hidden=True) == [1, 2, 3]


@over_engines
def test_AC_RS_028_an_item_that_is_told_again_otherwise_is_changed_in_place(engine: str) -> None:
    recent = store(engine)
    apply(recent, [mk(1, 7, 9), mk(2, 7, 5, video=True), mk(3, 7, 7, video=True)])
    apply(recent, [mk(1, 7, 9, tag=4, video=True), mk(2, 7, 5)])
    assert latest(recent, 7, mode="video") == [3, 1]
    assert recent.get(ids(1), now_ms=NOW_MS)["tag"].tolist() == [4]
    assert (recent.tally.counts["updated"], recent.sizes().items, recent.sizes().videos) == (2, 3, 2)


@over_engines
@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_AC_RS_012_a_repost_of_a_video_is_a_video_whichever_comes_first(engine: str, order: tuple[int, ...]) -> None:
    recent = store(engine)
    events = [
        mk(1, 7, 30, video=True),
        mk(2, 8, 20, kind="repost", source_item=1, source_author=7),
        mk(3, 8, 10, kind="reply", video=True, answered_item=1),
    ]
    for number in order:
        apply(recent, [events[number]])
    assert latest(recent, 7, 8, mode="video") == [2, 1]
    apply(recent, [gone(1)])
    assert latest(recent, 7, 8, mode="video") == [], "a repost of a video that was deleted shows nothing"


@over_engines
def test_AC_RS_012_only_so_many_reposts_wait_for_their_source(engine: str) -> None:
    recent = store(engine, waiting_reposts_max=2)
    apply(recent, [mk(10 + number, 8, 20, kind="repost", source_item=number) for number in (1, 2, 3)])
    apply(recent, [mk(number, 7, 30, video=True) for number in (1, 2, 3)])
    assert latest(recent, 8, mode="video") == [13, 12]
    assert recent.tally.counts["reposts_forgotten"] == 1


@over_engines
def test_AC_RS_017_each_of_three_hints_makes_a_reply(engine: str) -> None:
    recent = store(engine)
    apply(recent, [mk(1, 7, 1, kind="reply"), mk(2, 7, 2, answered_item=9), mk(3, 7, 3, answered_author=9)])
    held = recent.held(ids(7))
    assert (held.originals.tolist(), held.secondary.tolist()) == ([0], [3])


@over_engines
@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("script", ["cd", "dc", "ddc"])
def test_AC_RS_030_what_was_deleted_is_never_returned(engine: str, script: str, together: bool) -> None:
    recent = store(engine)
    events = [mk(1, 7, 10) if letter == "c" else gone(1) for letter in script]
    for batch in [events] if together else [[event] for event in events]:
        apply(recent, batch)
    assert (latest(recent, 7), recent.sizes().tombstones, recent.sizes().items) == ([], 1, 0)


@over_engines
def test_AC_RS_031_a_deletion_from_the_future_counts_as_one_of_now(engine: str) -> None:
    recent = store(engine)
    apply(recent, [gone(1, age_s=-5)])
    recent.expire(now_ms=NOW_MS)
    apply(recent, [mk(1, 7, 10)])
    assert (latest(recent, 7), recent.tally.counts["tombstone_rejected"]) == ([], 1)
    recent.expire(now_ms=NOW_MS + 172_800_001)
    assert recent.sizes().tombstones == 0


@over_engines
def test_AC_RS_032_a_tombstone_that_has_expired_is_gone_and_the_late_item_is_too_old(engine: str) -> None:
    recent = store(engine)
    apply(recent, [gone(1)])
    later_ms = NOW_MS + 172_800_001
    recent.expire(now_ms=later_ms)
    assert recent.sizes().tombstones == 0
    apply(recent, [mk(1, 7, 10)], now_ms=later_ms)
    assert recent.tally.counts["expired_rejected"] == 1
    assert latest(recent, 7, now_ms=later_ms) == []


@over_engines
def test_AC_RS_033_author_0_can_be_followed(engine: str) -> None:
    recent = store(engine)
    apply(recent, [mk(1, 0, 10), gone(2)])
    assert latest(recent, 0) == [1]


@over_engines
def test_AC_RS_069_every_event_has_one_outcome(engine: str) -> None:
    recent = store(engine, cap=3)
    apply(recent, [mk(number, 7, number) for number in range(1, 5)])
    apply(recent, [mk(5, 7, 90), mk(1, 7, 1), mk(2, 7, 2, tag=4), mk(0, 7, 1), mk(6, 7, -61), mk(7, 7, 172_801)])
    apply(recent, [gone(1), gone(1, kind=EventKind.HIDE), gone(9, kind=EventKind.LABEL, set=1)])
    apply(recent, [mk(1, 7, 1)])
    apply(recent, [gone(2, kind=EventKind.RESTORE), gone(1, kind=EventKind.UNDELETE, author=7)])
    recent.note_faults(decode_failed=2, unknown_kind=1, empty=1)
    counts = recent.tally.counts
    assert recent.tally.outcomes == recent.tally.read == 20
    assert {name: count for name, count in counts.items() if count} == {
        "inserted": 5,
        "duplicate": 1,
        "updated": 1,
        "tombstone_rejected": 1,
        "expired_rejected": 1,
        "future_rejected": 1,
        "over_cap": 1,
        "no_id_rejected": 1,
        "deleted": 1,
        "undeleted": 1,
        "hidden": 1,
        "restored": 1,
        "labelled": 1,
        "decode_failed": 2,
        "unknown_kind": 1,
        "empty": 1,
    }


@over_engines
def test_P12_nothing_deleted_is_served_again_until_it_is_undeleted(engine: str) -> None:
    draw, recent = random.Random(12), store(engine, items_max=300)
    dead: set[int] = set()
    for _ in range(400):
        item = draw.randrange(1, 60)
        event = draw.choice(
            [mk(item, item % 5, item), mk(item, item % 5, item), gone(item, age_s=draw.randrange(-9, 9))]
        )
        if event.kind == EventKind.DELETE:
            dead.add(item)
        apply(recent, [event])
        everyone = latest(recent, *range(5), results=5_000)
        assert not dead & set(everyone)
        assert not dead & set(recent.get(ids(*range(1, 60)), now_ms=NOW_MS)["item"].tolist())
        if draw.random() < 0.05:
            recent.expire(now_ms=NOW_MS)
            recent.sweep()
    assert recent.finalise(now_ms=NOW_MS) == 0
    assert len(dead) > 40
