"""The feeder: filters, delivery and videos (specification, sections 4 and 5)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.memory import MemoryStore
from gristmill.domain.errors import Unavailable
from gristmill.ports.log import Log
from gristmill.recent import EventKind, Flag
from gristmill.recent.core.feed import FeedRules, Medium, RawMapping, decide_event, has_video, read_raw
from gristmill.testing.clock import FakeClock
from tests.recent.stage import (
    GROUP,
    ITEMS,
    PATIENCE_S,
    RAW,
    Instead,
    append_raw,
    asked,
    fed,
    make_feeder,
    make_serving,
    running,
    until,
)

CLOCK = SystemClock()


def create(item: int, author: int | None = 7, *, age_s: float = 10, **further: Any) -> dict[str, Any]:
    at_ms = CLOCK.now_ms() - round(age_s * 1_000)
    known = {} if author is None else {"author_id": str(author)}
    return {"event": "create", "item_id": str(item), "created_at": at_ms, **known, **further}


def dropped(registry: CollectorRegistry) -> dict[str, float]:
    name = "gristmill_recent_feeder_dropped_total"
    reasons = ("unlisted", "delete_too_old", "kind", "create_too_old", "malformed")
    counts = {reason: registry.get_sample_value(name, {"reason": reason}) or 0 for reason in reasons}
    return {reason: count for reason, count in counts.items() if count}


async def test_AC_RS_007_what_may_be_served_goes_on_and_the_rest_is_counted(log: Log) -> None:
    feeder, registry = make_feeder(log, CLOCK)
    old_ms = CLOCK.now_ms() - 3 * 86_400_000
    await append_raw(
        log,
        create(1),
        create(2),
        create(3),
        create(4, unlisted=True),
        {"event": "delete", "item_id": "90", "created_at": old_ms},
        {"event": "delete", "item_id": "91", "author_id": "7"},
        {"event": "quoted_delete", "item_id": "92", "quoting_item_id": "93"},
        {"event": "sensitivity", "item_id": "1"},
        create(5, None),
        create(6, in_reply_to_item="1", in_reply_to_author="7"),
    )
    assert await feeder.run_once() == 10
    events = await fed(log)
    assert [event.item for event in events if event.kind == EventKind.CREATE] == [1, 2, 3, 6]
    assert [event.item for event in events if event.kind == EventKind.DELETE] == [91, 93]
    assert dropped(registry) == {"unlisted": 1, "delete_too_old": 1, "kind": 1, "malformed": 1}
    assert await log.claim(RAW, GROUP, owner="other", limit=10, lease_ms=1_000) == []
    assert await feeder.run_once() == 0


async def test_AC_RS_007_decisions_and_odd_records_pass_the_feeder_too(log: Log) -> None:
    feeder, registry = make_feeder(log, CLOCK)
    await append_raw(
        log,
        {"event": "hide", "item_id": 1, "reason_code": 3},
        {"event": "label", "item_id": 1, "set": 5, "clear": 2},
        {"event": "restore", "item_id": 1},
        {**create(2), "event": "undelete"},
        create(3, age_s=172_900),
        b"{",
        b"",
        {"event": "hide"},
    )
    assert await feeder.run_once() == 8
    events = await fed(log)
    assert [(event.kind, event.item) for event in events] == [
        (EventKind.HIDE, 1),
        (EventKind.LABEL, 1),
        (EventKind.RESTORE, 1),
        (EventKind.UNDELETE, 2),
    ]
    assert (events[0].reason, events[1].set, events[1].clear) == (3, 5, 2)
    assert dropped(registry) == {"create_too_old": 1, "malformed": 3}


async def test_AC_RS_008_one_event_on_an_idle_topic_is_fed_at_once(log: Log) -> None:
    feeder, _ = make_feeder(log, CLOCK)
    task = asyncio.create_task(feeder.run())
    serving = make_serving(log, CLOCK)
    async with running(serving):
        await append_raw(log, create(1))
        await until(lambda: serving.store.sizes().items == 1)
        assert asked(serving, 7) == [1]
    feeder.stop()
    async with asyncio.timeout(PATIENCE_S):
        await task


async def test_AC_RS_009_nothing_is_accepted_while_the_log_refuses_and_all_is_there_afterwards() -> None:
    clock = FakeClock(is_jumping=True)
    memory = MemoryStore(clock).log
    refusals = 0

    async def accept(*arguments: Any, **further: Any) -> list[bool]:
        nonlocal refusals
        refusals += 1
        assert await fed(memory) == []
        raise Unavailable("log", advice="broken on purpose")

    log: Any = Instead(memory, accept=accept)
    feeder, registry = make_feeder(log, clock)
    now_ms = clock.now_ms()
    documents = [{"event": "create", "item_id": n, "author_id": 7, "created_at": now_ms} for n in range(1, 2_501)]
    await append_raw(memory, *documents)
    with pytest.raises(Unavailable):
        # Nothing went out for 30 s: whoever watches over the process starts another.
        await feeder.run()
    assert refusals > 100
    assert clock.now_ms() - now_ms >= 30_000
    assert registry.get_sample_value("gristmill_recent_poll_errors_total")
    clock.advance(60_001)
    again, _ = make_feeder(memory, clock, owner="second")
    assert [await again.run_once() for _ in range(4)] == [1_000, 1_000, 500, 0]
    assert {event.item for event in await fed(memory)} == set(range(1, 2_501))


async def test_AC_RS_010_a_feeder_that_dies_before_it_accepts_makes_duplicates_that_nobody_sees() -> None:
    clock = FakeClock()
    memory = MemoryStore(clock).log

    async def die(leases: Any, *, then: Any) -> list[bool]:
        await memory.append(ITEMS, [record for _, record in then])
        raise RuntimeError("killed between sending and accepting")

    now_ms = clock.now_ms()
    documents = [{"event": "create", "item_id": n, "author_id": 7, "created_at": now_ms - n} for n in range(1, 6)]
    await append_raw(memory, *documents)
    log: Any = Instead(memory, accept=die)
    with pytest.raises(RuntimeError):
        await make_feeder(log, clock)[0].run_once()
    clock.advance(60_001)
    assert await make_feeder(memory, clock, owner="second")[0].run_once() == 5
    assert len(await fed(memory)) == 10
    serving = make_serving(memory, clock)
    async with running(serving):
        assert asked(serving, 7) == [1, 2, 3, 4, 5]
        assert serving.store.tally.counts["duplicate"] == 5


@pytest.mark.parametrize(
    ("media", "is_video"),
    [
        ([("video", 4_999)], False),
        ([("video", 5_000)], True),
        ([("video", None)], False),
        ([("video", 9_000), ("video", 9_000)], False),
        ([("video", 9_000), ("image", None)], False),
        ([("gif", 9_000)], False),
        ([], False),
    ],
)
def test_AC_RS_011_only_one_long_video_alone_is_a_video(media: list[tuple[str, int | None]], is_video: bool) -> None:
    assert has_video([Medium(*one) for one in media], video_ms_min=5_000) == is_video
    told = [{"type": kind, "duration_ms": duration} for kind, duration in media]
    raw = read_raw(str(create(1, media=told)).replace("'", '"').replace("None", "null").encode(), RawMapping())
    event = decide_event(raw, FeedRules(), now_ms=CLOCK.now_ms())
    assert not isinstance(event, str)
    assert bool(event.flags & Flag.VIDEO) == is_video
