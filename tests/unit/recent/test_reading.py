"""Raw events, the gate, and what is remembered of bad records: every branch."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gristmill.adapters.memory import MemoryStore
from gristmill.domain.errors import DataError
from gristmill.recent.core.bad import BadRecords
from gristmill.recent.core.feed import Medium, RawEvent, RawMapping, read_raw
from gristmill.recent.core.gate import Gate
from gristmill.testing.clock import FakeClock
from tests.recent.making import mk
from tests.recent.stage import Instead, append_frames, make_serving, running, until

CREATED_MS = 1_700_000_000_250


def read(**document: Any) -> RawEvent:
    return read_raw(msgspec.json.encode(document), RawMapping())


@pytest.mark.parametrize(
    ("told", "created_ms"),
    [
        (CREATED_MS, CREATED_MS),
        ("1700000000251", CREATED_MS + 1),
        (1_700_000_000, CREATED_MS - 250),
        (1_700_000_000.25, CREATED_MS),
        ("2023-11-14T22:13:20.250Z", CREATED_MS),
        ("2023-11-14T23:13:20.250+01:00", CREATED_MS),
        (None, None),
    ],
)
def test_a_time_may_be_told_in_several_ways(told: Any, created_ms: int | None) -> None:
    assert read(created_at=told).created_ms == created_ms


@pytest.mark.parametrize(
    "document",
    [
        {"created_at": "yesterday"},
        {"created_at": "2023-11-14T22:13:20"},
        {"created_at": True},
        {"created_at": 1e30},
        {"created_at": "2200-01-01T00:00:00Z"},
        {"item_id": -1},
        {"item_id": 2**64},
        {"item_id": "x"},
        {"item_id": 1.5},
        {"tag": 256},
        {"reason_code": 65_536},
    ],
)
def test_a_value_that_is_out_of_its_range_is_refused_by_name(document: dict[str, Any]) -> None:
    with pytest.raises(DataError, match=f"{next(iter(document))} of a raw event"):
        read(**document)


@pytest.mark.parametrize("value", [b"[1]", b"nothing", b'{"a": "\xff"}', b"[" * 100_000])
def test_what_is_no_object_is_refused(value: bytes) -> None:
    with pytest.raises(DataError, match="raw event is no"):
        read_raw(value, RawMapping())


def test_values_are_found_where_a_mapping_says() -> None:
    value = msgspec.json.encode(
        {"op": "create", "post": {"id": "5", "by": {"id": 9}, "video": [{"kind": "video", "ms": 7_000.0}]}}
    )
    mapping = RawMapping(
        kind="op",
        item="post.id",
        author="post.by.id",
        conversation="post.id.no",
        media="post.video",
        medium_type="kind",
        medium_duration_ms="ms",
    )
    raw = read_raw(value, mapping)
    assert (raw.kind, raw.item, raw.author, raw.conversation) == ("create", 5, 9, 0)
    assert raw.media == (Medium("video", 7_000),)
    assert read(media=["odd", {"type": "video", "duration_ms": True}]).media == (
        Medium("None", None),
        Medium("video", None),
    )


def told(gate: Gate, *names: str) -> tuple[Any, ...]:
    return (gate.state, *(getattr(gate, name) for name in names))


def test_a_gate_opens_once_and_tells_who_is_behind() -> None:
    gate = Gate(staleness_ms=1_000)
    gate.on_caught_up()
    assert told(gate, "is_open") == ("loading", False)
    gate.on_start(end=5)
    gate.on_records(5, appended_at_ms=100)
    gate.on_look(end=7, now_ms=100)
    assert told(gate, "behind") == ("catching_up", 0), "two may have been deleted before we came"
    gate.on_caught_up()
    gate.on_records(2, appended_at_ms=150)
    gate.on_look(end=7, now_ms=200)
    gate.on_look(end=9, now_ms=300)
    assert told(gate, "behind") == ("ready", 2)
    gate.on_look(end=9, now_ms=1_400)
    assert told(gate, "is_open") == ("stale", True)
    gate.on_new_pass()
    gate.on_records(9, appended_at_ms=1_500)
    gate.on_look(end=9, now_ms=1_500)
    assert told(gate, "behind") == ("ready", 0)
    gate.on_drain()
    assert told(gate, "is_open") == ("draining", True)
    gate.on_look(end=9, now_ms=9_000)
    assert told(gate) == ("draining",)


def test_the_last_bad_records_are_kept_and_a_flood_of_them_is_told() -> None:
    bad = BadRecords()
    for offset in range(6_000):
        bad.note(offset, "broken", b"x" * 1_000)
    assert (len(bad.kept), bad.kept[0].offset, len(bad.kept[0].value)) == (100, 5_900, 256)
    told = []
    for count in (9_999, 1, 10_000):
        bad.on_read(count)
        told.append(bad.is_degraded)
    assert told == [False, True, False]


async def test_a_log_with_partitions_is_read_again_from_its_beginning_once_it_was_read() -> None:
    clock = FakeClock(is_jumping=True)
    memory = MemoryStore(clock).log
    log: Any = Instead(memory, capabilities=frozenset({"partitioned"}))
    now_ms = clock.now_ms()
    events = [mk(number, 7, 0) for number in range(1, 51)]
    await append_frames(memory, [msgspec.structs.replace(event, at_ms=now_ms - 9) for event in events], size=5)
    serving = make_serving(log, clock)
    async with running(serving):
        await until(lambda: serving.store.tally.counts["duplicate"] == 50)
        assert (serving.store.sizes().items, serving.gate.read) == (50, 10)
        await append_frames(memory, [msgspec.structs.replace(mk(51, 7, 0), at_ms=now_ms)])
        await until(lambda: serving.store.sizes().items == 51)
