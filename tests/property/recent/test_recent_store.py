"""The store of recent items answers like the plainest one, whatever comes in whatever order; every engine alike."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.recent import Event, EventKind, Flag, LatestRequest, Place, StoreLimits
from tests.recent.making import ENGINES, NOW_MS, apply, ids, store
from tests.recent.oracle import Oracle

ITEMS, AUTHORS = st.integers(1, 40), st.integers(0, 5)
LIMITS = {"originals": 4, "secondary": 3, "videos": 3, "scan": 6, "results": 12, "video_results": 8}
TIMES = st.integers(-70, 60).map(lambda age: NOW_MS - age * 50) | st.sampled_from(
    [NOW_MS - 172_800_000, NOW_MS - 172_800_001, NOW_MS + 60_000, NOW_MS + 60_001]
)
RELATED = st.just(0) | ITEMS


@st.composite
def creates(draw: Any) -> Event:
    """An item of a small world, in which most relations lead to something."""
    return Event(
        item=draw(ITEMS),
        author=draw(AUTHORS),
        at_ms=draw(TIMES),
        flags=draw(st.sampled_from([0, 0, 1, 2, 2, 3, 4, 4, 5])),
        tag=draw(st.integers(0, 2)),
        answered_item=draw(RELATED),
        answered_author=draw(st.just(0) | AUTHORS),
        source_item=draw(RELATED),
        source_author=draw(AUTHORS),
        conversation=draw(RELATED),
    )


OTHERS = st.builds(
    Event,
    kind=st.sampled_from([EventKind.DELETE, EventKind.HIDE, EventKind.RESTORE, EventKind.LABEL]),
    item=ITEMS,
    at_ms=TIMES,
    set=st.integers(0, 7),
    clear=st.integers(0, 7),
)
PLACES = st.none() | st.builds(Place, at_ms=TIMES, item=ITEMS)
LOWER = st.none() | st.integers(0, 6)
REQUESTS = st.builds(
    LatestRequest,
    authors=st.lists(st.integers(0, 7), max_size=9).map(lambda one: ids(*one)),
    requester=st.integers(0, 6),
    exclude=st.lists(ITEMS, max_size=4).map(lambda one: ids(*one)),
    results=st.integers(0, 9),
    mode=st.sampled_from(["timeline", "timeline", "video"]),
    kinds=st.integers(1, 7) | st.just(7),
    tags_any=st.sampled_from([0, 0, 1, 3]),
    tags_none=st.sampled_from([0, 0, 2, 4]),
    before=PLACES,
    since=PLACES,
    originals=LOWER,
    secondary=LOWER,
    videos=LOWER,
    include_hidden=st.booleans(),
)


def distinct(events: list[Event]) -> list[Event]:
    """Leave one content for each id: what it is to be edited is another law."""
    first: dict[int, Event] = {}
    return [first.setdefault(event.item, plain(event)) if event.kind == EventKind.CREATE else event for event in events]


def plain(event: Event) -> Event:
    """Sources belong to reposts alone: a frame holds no other."""
    kept = {name: getattr(event, name) for name in event.__struct_fields__}
    return event if event.flags & Flag.REPOST else Event(**{**kept, "source_item": 0, "source_author": 0})


@pytest.mark.parametrize("engine", ENGINES)
@given(
    events=st.lists(creates() | creates() | creates() | OTHERS, max_size=120).map(distinct),
    cuts=st.lists(st.integers(1, 40), min_size=1, max_size=8),
    requests=st.lists(REQUESTS, min_size=1, max_size=4),
)
@settings(max_examples=80)
def test_AC_RS_041_the_store_answers_like_a_list_comprehension(
    engine: str, events: list[Event], cuts: list[int], requests: list[LatestRequest]
) -> None:
    recent, oracle = store(engine, **LIMITS), Oracle(StoreLimits(items_max=20_000, **LIMITS), NOW_MS)
    start = 0
    for number in range(len(events)):
        if start >= len(events):
            break
        end = start + cuts[number % len(cuts)]
        apply(recent, events[start:end])
        oracle.apply(events[start:end])
        start = end
    for request in requests:
        answer = recent.latest(request, now_ms=NOW_MS)
        assert answer.rows["item"].tolist() == oracle.latest(request)
    assert recent.tally.outcomes == recent.tally.read == len(events)
    assert recent.sizes().items == len(oracle.items)
    assert sorted(recent.get(ids(*range(1, 41)), now_ms=NOW_MS)["item"].tolist()) == sorted(oracle.items)


@pytest.mark.parametrize("engine", ENGINES)
@given(
    creates=st.lists(creates(), min_size=1, max_size=60, unique_by=lambda event: event.item).map(distinct),
    again=st.lists(st.integers(0, 59), max_size=30),
    deleted=st.lists(ITEMS, max_size=12),
    order=st.randoms(use_true_random=False),
    cut=st.integers(1, 70),
    request=REQUESTS,
)
@settings(max_examples=50)
def test_AC_RS_028_no_order_and_no_cut_of_events_changes_an_answer(
    engine: str,
    *,
    creates: list[Event],
    again: list[int],
    deleted: list[int],
    order: Any,
    cut: int,
    request: LatestRequest,
) -> None:
    events = [*creates, *(creates[number % len(creates)] for number in again)]
    events += [Event(kind=EventKind.DELETE, item=item, at_ms=NOW_MS) for item in deleted]
    straight, shuffled = store(engine, **LIMITS), store(engine, **LIMITS)
    apply(straight, events)
    order.shuffle(events)
    for start in range(0, len(events), cut):
        apply(shuffled, events[start : start + cut])
    answers = [one.latest(request, now_ms=NOW_MS).rows for one in (straight, shuffled)]
    assert answers[0].tolist() == answers[1].tolist()
    assert shuffled.tally.outcomes == len(events)
