"""What the store of recent items holds, and for how long (specification, sections 9 and 11)."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from gristmill.recent.core.event import EVENT_ROW
from tests.recent.making import ENGINES, NOW_MS, apply, ids, latest, mk, store

DAY_MS = 86_400_000
over_engines = pytest.mark.parametrize("engine", ENGINES)


@over_engines
def test_AC_RS_025_age_decides_what_is_kept(engine: str) -> None:
    recent = store(engine)
    apply(recent, [mk(1, 7, 172_800), mk(2, 7, 172_801), mk(3, 7, -59), mk(4, 7, -61)])
    found = recent.get(ids(1, 2, 3, 4), now_ms=NOW_MS)
    assert found["item"].tolist() == [1, 3]
    assert found["at_ms"].tolist() == [NOW_MS - 172_800_000, NOW_MS], "what is a bit ahead was created now"
    assert (recent.tally.counts["expired_rejected"], recent.tally.counts["future_rejected"]) == (1, 1)


@over_engines
def test_AC_RS_026_the_oldest_above_the_cap_goes(engine: str) -> None:
    recent = store(engine)
    apply(recent, [mk(number, 7, 6_000 - number) for number in range(1, 5_002)])
    asked = {"results": 5_000, "originals": 5_000}
    assert 1 not in latest(recent, 7, **asked)
    for _ in range(5):
        recent.sweep()
    assert recent.get(ids(1, 2), now_ms=NOW_MS)["item"].tolist() == [2]
    assert (recent.held(ids(7)).originals.tolist(), recent.sizes().items) == ([5_000], 5_000)


@over_engines
def test_AC_RS_027_the_queue_of_videos_lets_go_of_no_item(engine: str) -> None:
    recent = store(engine)
    apply(recent, [mk(number, 7, 9_000 - number, video=True) for number in range(1, 3_001)])
    reposts = range(3_001, 5_002)
    apply(recent, [mk(number, 7, 9_000 - number, kind="repost", source_item=number - 3_000) for number in reposts])
    for _ in range(5):
        recent.sweep()
    everything = np.arange(1, 5_002, dtype=np.uint64)
    assert len(recent.get(everything, now_ms=NOW_MS)) == 5_001
    assert recent.held(ids(7)).videos.tolist() == [5_000]
    assert recent.sizes().videos == 5_000


@over_engines
@pytest.mark.parametrize("batch", [12_000, 700])
def test_AC_RS_029_a_full_ring_lets_the_first_ones_go(engine: str, batch: int) -> None:
    recent = store(engine, items_max=10_000)
    events = [mk(number, number % 50, 20_000 - number) for number in range(1, 12_001)]
    for start in range(0, len(events), batch):
        apply(recent, events[start : start + batch])
    assert (recent.sizes().items, recent.tally.counts["ring_evicted"]) == (10_000, 2_000)
    newest = np.arange(2_001, 12_001, dtype=np.uint64)
    assert len(recent.get(newest, now_ms=NOW_MS)) == 10_000
    assert latest(recent, *range(50), results=50) == list(range(12_000, 11_950, -1))


@over_engines
def test_AC_RS_029_older_items_that_came_later_stay_within_reach_when_the_ring_is_full(engine: str) -> None:
    recent = store(engine, items_max=4)
    apply(recent, [mk(1, 7, 10)])
    apply(recent, [mk(2, 7, 30)])
    apply(recent, [mk(3, 7, 5), mk(4, 7, 40, video=True)])
    apply(recent, [mk(5, 7, 3)])
    assert latest(recent, 7) == [5, 3, 2, 4], "the first to come, 1, lay between them"


@over_engines
def test_AC_RS_034_nothing_expired_is_returned_though_it_was_not_let_go(engine: str) -> None:
    recent = store(engine)
    apply(recent, [mk(1, 7, 0), mk(2, 7, 0, kind="reply", answered_item=1)])
    later_ms = NOW_MS + 172_800_001
    assert latest(recent, 7, now_ms=later_ms) == []
    assert len(recent.get(ids(1), now_ms=later_ms)) == 0
    assert recent.newest(ids(7, 8), now_ms=later_ms).tolist() == [0, 0]


@over_engines
def test_AC_RS_034_an_answer_to_what_has_expired_goes_with_it(engine: str) -> None:
    recent = store(engine)
    apply(recent, [mk(1, 7, 172_790), mk(2, 8, 0, kind="reply", answered_item=1)])
    assert latest(recent, 8) == [2]
    assert latest(recent, 8, now_ms=NOW_MS + 11_000) == []


@over_engines
def test_AC_RS_036_what_has_expired_leaves_nothing_behind(engine: str) -> None:
    recent = store(engine, items_max=60_000)
    rows = np.zeros(50_000, EVENT_ROW)
    rows["item"], rows["author"] = np.arange(1, 50_001), np.arange(50_000) % 9_000
    rows["at_ms"] = NOW_MS - 50_000 + np.arange(50_000)
    recent.apply(rows, now_ms=NOW_MS)
    full = recent.sizes()
    assert (full.items, full.authors) == (50_000, 9_000)
    while recent.expire(now_ms=NOW_MS + 2 * DAY_MS + 1):
        pass
    for _ in range(5):
        recent.sweep()
    empty = recent.sizes()
    assert (empty.items, empty.rows, empty.authors, empty.originals) == (0, 0, 0, 0)
    assert empty.bytes < full.bytes * 0.3
    apply(recent, [mk(1, 7, -172_801)], now_ms=NOW_MS + 2 * DAY_MS + 1)
    assert latest(recent, 7, now_ms=NOW_MS + 2 * DAY_MS + 1) == [1]


@over_engines
def test_AC_RS_066_a_ring_that_comes_round_many_times_stays_right(engine: str) -> None:
    recent = store(engine, items_max=1_000, retention_ms=1_000_000)
    rows = np.zeros(250, EVENT_ROW)
    for round_ in range(120):
        now_ms = NOW_MS + round_ * 250
        rows["item"] = 1 + round_ * 250 + np.arange(250)
        rows["author"], rows["at_ms"] = rows["item"] % 7, now_ms - 250 + np.arange(250)
        recent.apply(rows, now_ms=now_ms)
    last = 120 * 250
    sizes = recent.sizes()
    assert (sizes.items, sizes.rows, sizes.originals) == (1_000, 1_000, 1_000)
    assert latest(recent, *range(7), results=400, originals=50, now_ms=now_ms) == list(range(last, last - 350, -1))
    assert recent.tally.counts["ring_evicted"] == last - 1_000


@over_engines
def test_AC_RS_067_no_object_is_made_for_an_item(engine: str) -> None:
    recent = store(engine, items_max=200_000)
    rows = np.zeros(100_000, EVENT_ROW)
    rows["item"], rows["author"], rows["at_ms"] = np.arange(1, 100_001), np.arange(100_000) % 10_000, NOW_MS - 5
    gc.collect()
    before = len(gc.get_objects())
    recent.apply(rows, now_ms=NOW_MS)
    gc.collect()
    assert len(gc.get_objects()) - before < 1_000
    assert recent.sizes().items == 100_000
