"""The decisions of the Kafka log: places, texts beside offsets, where reading begins, where a record waits."""

from __future__ import annotations

import base64

import pytest

from gristmill.adapters.kafka.core.metadata import TEXT_MAX, Progress, decode_progress, encode_progress
from gristmill.adapters.kafka.core.naming import Names, first_after, pack_offset, unpack_offset
from gristmill.adapters.kafka.core.start import Start, decide_start
from gristmill.adapters.kafka.core.tiers import Ordering, StayHere, ToTier, decide_wait
from gristmill.adapters.kafka.core.tracker import WINDOW, OffsetTracker
from gristmill.domain.errors import InvariantBroken, UsageError

TIERS_MS = (5_000, 60_000, 600_000)


def test_a_packed_offset_is_above_zero_and_grows_in_its_partition() -> None:
    places = [pack_offset(offset, partition) for offset in (0, 1, 2) for partition in (0, 7)]
    assert places == sorted(set(places))
    assert places[0] > 0
    assert unpack_offset(pack_offset(41, 7)) == (41, 7)
    assert pack_offset(1 << 52, 1023) < 1 << 63


@pytest.mark.parametrize(("partition", "first"), [(0, 6), (3, 6), (4, 5)])
def test_what_is_above_a_place_begins_later_in_partitions_up_to_its_own(partition: int, first: int) -> None:
    after = pack_offset(5, 3)
    assert first_after(after, partition) == first
    assert pack_offset(first, partition) > after
    assert pack_offset(first - 1, partition) <= after
    assert first_after(0, partition) == 0


def test_names_of_the_log_itself_and_those_that_kafka_refuses_are_refused() -> None:
    names = Names("p.")
    assert names.topic("item.published") == "p.item.published"
    for name in ("dead-letters", "t.g.retry.5s", "a b", "ü", "x" * 300):
        with pytest.raises(UsageError):
            names.topic(name)


def test_topics_are_told_from_what_the_log_needs_for_itself() -> None:
    names = Names("p.")
    found = ["q.t", "p.b", "p.a", names.dead, *names.retries("a", "g", tiers_ms=TIERS_MS), "p.__x"]
    assert names.plain_topics(found) == ["a", "b"]


def test_a_topic_of_others_keeps_its_name_and_is_never_written() -> None:
    names = Names("p.", frozenset({"raw.news"}))
    assert names.topic("raw.news") == "raw.news"
    assert names.own_topic("mine") == "p.mine"
    assert names.retry("raw.news", "g", tier_ms=5_000) == "p.raw.news.g.retry.5s"
    assert names.group("raw.news", "g") == "p.g.raw.news"
    assert names.plain_topics(["raw.news", "p.a", "p.raw.news", "other"]) == ["a", "raw.news"]
    assert names.plain_topics(["p.a"]) == ["a"]
    with pytest.raises(UsageError, match=r"raw\.news.*log\.foreign"):
        names.own_topic("raw.news")


def test_a_full_window_fits_beside_an_offset() -> None:
    text, left_out = encode_progress(Progress(set(range(1, WINDOW))))
    assert (len(text), left_out) == (1_676, 0)
    half = Progress(set(range(1, WINDOW, 2)), dict.fromkeys(range(0, WINDOW, 2), 1))
    text, left_out = encode_progress(half)
    assert len(text) <= TEXT_MAX
    assert left_out == 0
    assert decode_progress(text) == half


def test_what_does_not_fit_is_left_out_and_counted_the_least_first() -> None:
    many = {index: 2 for index in range(0, WINDOW, 2)}
    text, left_out = encode_progress(Progress(set(range(1, WINDOW, 2)), many))
    found = decode_progress(text)
    assert found.starts.keys() == many.keys()
    assert left_out == sum(count == 1 for count in found.starts.values()) > 0
    wide = Progress({20_000}, {21_000: 1, 22_000: 3})
    text, left_out = encode_progress(wide)
    assert (decode_progress(text).complete, left_out) == ({20_000}, 2)
    text, left_out = encode_progress(Progress({60_000}, {100_000: 1}))
    assert (text, left_out) == ("", 2)


def test_a_text_that_is_not_ours_tells_nothing() -> None:
    for text in ("", "no base64!", base64.b64encode(b"\x02\x00\x01\xff\x00\x00").decode(), "AQ=="):
        assert decode_progress(text) == Progress()


def test_only_open_records_have_starts() -> None:
    tracker = OffsetTracker(5)
    tracker.on_fetched(5)
    tracker.set_starts(5, 1)
    tracker.set_starts(5, 0)
    assert tracker.starts_of(5) == 0
    with pytest.raises(InvariantBroken):
        tracker.set_starts(6, 1)
    assert not tracker.is_full


def test_what_vanished_since_the_last_owner_is_forgotten() -> None:
    text, _ = encode_progress(Progress({1}, {0: 2, 2: 1}))
    tracker = OffsetTracker(10, text)
    assert tracker.on_fetched(13)
    assert tracker.to_commit()[:2] == (13, "")


@pytest.mark.parametrize(
    ("committed", "low", "high", "start"),
    [
        (None, 3, 9, Start(3, "", 0)),
        (5, 3, 9, Start(5, "text", 0)),
        (9, 3, 9, Start(9, "text", 0)),
        (1, 3, 9, Start(3, "", 2)),
        (12, 0, 9, Start(0, "", 3)),
        (12, 0, 0, Start(0, "", 0)),
    ],
)
def test_reading_begins_where_the_group_was_and_a_loss_is_counted(
    committed: int | None, low: int, high: int, start: Start
) -> None:
    assert decide_start(committed=committed, metadata="text", low=low, high=high) == start


@pytest.mark.parametrize(
    ("delay_ms", "counted", "ordering", "wait"),
    [
        (0, True, "none", StayHere()),
        (1, True, "none", ToTier(5_000)),
        (5_001, True, "none", ToTier(60_000)),
        (10**9, True, "none", ToTier(600_000)),
        (1_000, False, "none", StayHere()),
        (1_000, True, "key", StayHere()),
    ],
)
def test_a_record_waits_in_a_tier_unless_it_must_stay(
    delay_ms: int, counted: bool, ordering: Ordering, wait: StayHere | ToTier
) -> None:
    assert decide_wait(delay_ms=delay_ms, counted=counted, ordering=ordering, tiers_ms=TIERS_MS) == wait
    assert decide_wait(delay_ms=delay_ms, counted=counted, ordering=ordering, tiers_ms=()) == StayHere()
