"""Each table has somebody who answers for its growth, and what goes is what nobody needs any more."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import apsw
import msgspec
import pytest

from gristmill.adapters.local_host import OwnerLock
from gristmill.adapters.sqlite import SqliteStore
from gristmill.adapters.sqlite.file.connection import StoreFile
from gristmill.adapters.sqlite.upkeep import compact_store
from gristmill.adapters.sqlite.upkeep.growth import GROWTH
from gristmill.adapters.sqlite.upkeep.sweeps import leftovers as leftovers_module
from gristmill.adapters.sqlite.upkeep.sweeps.sweep import REST_MS
from gristmill.domain.commit import Contributed, Quarantine, RunCommit
from gristmill.domain.contribution import Count, Join
from gristmill.domain.front.label_fact import LabelFact
from gristmill.domain.front.publication import Once, Publication
from gristmill.domain.ids import IDS_PER_DAY, ItemId, compute_run_id
from gristmill.domain.item import Item
from gristmill.domain.log import Diagnosis
from gristmill.domain.run import Effect, Event
from gristmill.domain.upkeep.closing import Closing
from gristmill.domain.upkeep.retention import RetentionRules
from gristmill.testing.clock import FakeClock
from gristmill.testing.contracts.backend import claim, records

DAY_MS = 86_400_000
NOW_MS = 1_796_000_000_000
"""2026-11-29 23:33:20 UTC"""

RULES = RetentionRules(
    inputs_ms=30 * DAY_MS,
    letters_ms=30 * DAY_MS,
    events_ms=30 * DAY_MS,
    runs_ms=30 * DAY_MS,
    quarantine_ms=90 * DAY_MS,
)
DIAGNOSIS = Diagnosis(error_class="E", error_text="broken")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.sqlite"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(start_ms=NOW_MS - DAY_MS, is_jumping=True)


@pytest.fixture
async def store(path: Path, clock: FakeClock) -> AsyncIterator[SqliteStore]:
    opened = SqliteStore.open(path, clock=clock, owner="me", synchronous="NORMAL")
    yield opened
    await opened.close()


async def sweep(
    store: SqliteStore, rules: RetentionRules = RULES, *, now_ms: int = NOW_MS, **changes: Any
) -> dict[str, int]:
    """Sweep by a clock that is right; it jumps over the pauses."""
    changed = msgspec.structs.replace(rules, **changes)
    return dict(await store.upkeep.sweep(changed, now_ms=now_ms, is_clock_right=True))


def ended(number: int, *, item: int, age_days: float, plan: str = "plan", **changes: Any) -> RunCommit:
    """An ended run of an item whose id is dated by its age."""
    at_ms = round(NOW_MS - age_days * DAY_MS)
    item_id = ItemId(20260101 * IDS_PER_DAY + item)
    fields: dict[str, Any] = {
        "run_id": compute_run_id(generator="gen", topic="t", offset=number, plan=plan),
        "plan": plan,
        "plan_version": 1,
        "generator": "gen",
        "item": Item(item_id, source="src", input_id=f"in-{item}", revision=number, text=f"text {number}"),
        "position": number,
        "status": "done",
        "started_at_ms": at_ms,
        "ended_at_ms": at_ms,
        "is_new_item": True,
        "events": (
            Event("run.ended", item_id, compute_run_id(generator="", topic="", offset=1, plan=""), at_ms, {"n": 1}),
        ),
        "effects": (Effect("sink", "do", "it", task="a"),),
    }
    return RunCommit(**{**fields, **changes})


def rows(path: Path, sql: str) -> list[Any]:
    connection = apsw.Connection(str(path))
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


async def test_every_table_has_somebody_who_answers_for_its_growth(store: SqliteStore, path: Path) -> None:
    tables = {name for (name,) in rows(path, "SELECT name FROM sqlite_schema WHERE type = 'table'")}
    assert {name for name in tables if not name.startswith("sqlite_")} == GROWTH.keys()
    assert all(len(growth.rule) > 5 for growth in GROWTH.values())
    uses = await store.upkeep.measure(RULES)
    assert [use.name for use in uses] == sorted(GROWTH)
    assert all(use.bytes > 0 for use in uses)


async def test_records_go_when_every_group_has_accepted_them(store: SqliteStore) -> None:
    offsets = await store.log.append("t", records(*"abcde"))
    assert await sweep(store) == {}
    for group in ("one", "two"):
        deliveries = await claim(store.log, group=group, limit=4)
        await store.log.accept([delivery.lease for delivery in deliveries if delivery.lease.offset != offsets[1]])
    assert await sweep(store, groups={"t": ("one", "three")}) == {}, "a group that is still to come needs all of them"
    assert await sweep(store, groups={"t": ("one", "two")}) == {"log": 3}
    assert [record.offset async for batch in store.log.read_all("t") for record in batch] == [offsets[1], offsets[4]]
    [held] = await store.upkeep.held(RULES)
    assert (held.topic, held.records, held.group) == ("t", 2, "one")
    assert await store.log.trimmed("t") == 3
    assert await store.log.end("t") == 5


async def test_the_record_of_an_open_letter_stays_until_somebody_has_decided(store: SqliteStore) -> None:
    await store.log.append("t", records("a"))
    [delivery] = await claim(store.log)
    await store.log.reject(delivery.lease, DIAGNOSIS)
    assert await sweep(store) == {}
    [letter] = await store.log.dead_letters()
    await store.log.requeue(letter.dead_letter_id)
    assert await sweep(store) == {}
    [delivery] = await claim(store.log)
    await store.log.accept([delivery.lease])
    assert await sweep(store) == {"log": 1}
    assert await sweep(store, letters_ms=DAY_MS // 2) == {"dead": 1}


async def test_what_was_done_with_letters_goes_with_the_age_of_closed_ones(store: SqliteStore) -> None:
    for days in (40, 20):
        at_ms = NOW_MS - days * DAY_MS
        closing = Closing(
            kind="dropped",
            at_ms=at_ms,
            actor="eve",
            dead_letter_id=1,
            topic="t",
            group="g",
            offset=1,
            diagnosis=DIAGNOSIS,
        )
        await store.closings.add([closing])
    assert await sweep(store, letters_ms=0) == {}
    assert await sweep(store) == {"closing": 1}
    assert [one.at_ms for one in await store.closings.before(None, limit=9)] == [NOW_MS - 20 * DAY_MS]


async def test_the_records_of_an_input_stay_for_its_output(store: SqliteStore, path: Path) -> None:
    await store.log.append("run.a.1", records("a", "b"))
    [first, second] = await claim(store.log, topic="run.a.1")
    await store.state.commit([ended(1, item=1, age_days=100), ended(2, item=1, age_days=99)])
    await store.log.accept([first.lease])
    assert await sweep(store) == {"event": 1}, "one record is still open, and the newest row of a table stays"
    await store.log.accept([second.lease])
    assert await sweep(store, inputs_ms=0) == {}
    assert await sweep(store, inputs_ms=DAY_MS // 2) == {"log": 2}
    assert rows(path, "SELECT count(*) FROM run") == [(2,)], "replaced runs are looked at again in an hour"
    assert await sweep(store, now_ms=NOW_MS + REST_MS) == {"run": 1, "effect": 1}


async def test_a_replaced_run_goes_and_the_newest_of_each_plan_stays(store: SqliteStore) -> None:
    await store.state.commit(
        [
            ended(1, item=1, age_days=200),
            ended(1, item=1, age_days=200, plan="other"),
            ended(2, item=2, age_days=150, status="failed", error="broken"),
            ended(3, item=1, age_days=100),
            ended(4, item=1, age_days=1),
            ended(5, item=2, age_days=31),
            ended(6, item=3, age_days=400),
        ]
    )
    deleted = await sweep(store, events_ms=0)
    assert deleted == {"run": 3, "effect": 3}
    assert {run.position for run in await store.state.runs(ItemId(20260101 * IDS_PER_DAY + 1))} == {1, 4}
    assert {run.position for run in await store.state.runs(ItemId(20260101 * IDS_PER_DAY + 2))} == {5}
    assert await store.state.counts() == {"items": 3, "runs": 4, "quarantined": 0, "runs.done": 4}


async def test_events_of_months_that_are_over_move_to_the_archive(store: SqliteStore, path: Path) -> None:
    commits = [ended(number, item=number, age_days=age) for number, age in enumerate((70, 45, 31, 28, 1), start=1)]
    await store.state.commit(commits)
    assert await sweep(store) == {"event": 3}
    assert await sweep(store) == {}
    archive = path.with_name("archive")
    found = {
        file.name: rows(file, "SELECT item_id, kind, body FROM event ORDER BY event_row")
        for file in sorted(archive.iterdir())
    }
    assert list(found) == ["events-2026-09.sqlite", "events-2026-10.sqlite"]
    assert found["events-2026-09.sqlite"] == [(commits[0].item.item_id, "run.ended", '{"n":1}')]
    assert await store.state.events(commits[0].item.item_id) == []
    assert len(await store.state.events(commits[4].item.item_id)) == 1


async def test_an_event_that_was_archived_and_not_deleted_stands_in_the_archive_once(
    store: SqliteStore, path: Path
) -> None:
    await store.state.commit([ended(1, item=1, age_days=70), ended(2, item=2, age_days=1)])
    [sweeping] = [one for one in store.upkeep._sweeps if type(one).__name__ == "EventSweep"]
    remove = sweeping.remove
    sweeping.remove = lambda turn, found, moment: (_ for _ in ()).throw(OSError("killed"))  # type: ignore[method-assign]
    with pytest.raises(OSError, match="killed"):
        await sweep(store)
    sweeping.remove = remove  # type: ignore[method-assign]
    assert await sweep(store) == {"event": 1}
    assert rows(path.with_name("archive") / "events-2026-09.sqlite", "SELECT count(*) FROM event") == [(1,)]


async def test_what_only_remembers_goes_when_its_time_is_over(store: SqliteStore, path: Path) -> None:
    await store.cache.put("a", "1", ttl_ms=10)
    await store.cache.put("b", "1", ttl_ms=NOW_MS * 2)
    old, young = (
        Quarantine(
            lease=None,
            source="s",
            generator="g",
            position=number,
            raw=b"raw",
            reason="r",
            violations=("v",),
            at_ms=NOW_MS - age * DAY_MS,
        )
        for number, age in ((7, 91), (8, 89))
    )
    await store.state.commit([old, young])
    for key, until_ms in (("old", NOW_MS - 1), ("new", NOW_MS + 1)):
        publication = Publication(
            topic="t", record=records(key)[0], tenant="main", source="s", input_id=key, proposed=ItemId(7)
        )
        await store.front.inlet.publish([publication], once=Once(key, "f", until_ms))
    assert await sweep(store) == {"cache": 1, "quarantine": 1, "once": 1}
    assert (await store.state.counts())["quarantined"] == 1
    assert await store.cache.get("b") == "1"


async def test_owners_go_when_they_are_long_gone_and_hold_nothing(store: SqliteStore, path: Path) -> None:
    await store.log.append("t", records(*"abcd"))
    lock = OwnerLock.take(store.owners_folder, "living")
    for owner in ("holding", "living", "gone", "newest"):
        [delivery] = await claim(store.log, owner=owner, limit=1)
        if owner != "holding":
            await store.log.accept([delivery.lease])
    assert (await sweep(store)).get("owner", 0) == 0, "the newest thousand stay"
    [sweeping] = [one for one in store.upkeep._sweeps if getattr(one, "table", "") == "owner"]
    sweeping.find_sql = leftovers_module.FIND_OWNERS.replace("- 1000", "- 1")  # type: ignore[attr-defined]
    assert (await sweep(store))["owner"] == 1
    assert [name for (name,) in rows(path, "SELECT name FROM owner")] == ["holding", "living", "newest"]
    lock.release()


def shares(number: int, *keys: str) -> tuple[Contributed, ...]:
    join = Join("texts", keys, "duplicate", "same text")
    count = Count("links", f"link-{number}", NOW_MS, 3_600_000, 2, "flood", "often")
    return tuple(Contributed(one, task="t", operator="o", revision="1") for one in (join, count))


async def test_items_go_only_where_an_age_is_set_and_nobody_needs_them(store: SqliteStore, path: Path) -> None:
    commits = [
        ended(1, item=1, age_days=200, contributions=shares(1, "alone")),
        ended(2, item=2, age_days=200, contributions=shares(2, "both")),
        ended(3, item=3, age_days=200, contributions=shares(3, "both")),
        ended(4, item=4, age_days=200, contributions=shares(4, "judged")),
        ended(5, item=5, age_days=200, contributions=shares(5, "again")),
        ended(6, item=5, age_days=2),
        ended(7, item=6, age_days=1),
    ]
    await store.state.commit(commits)
    judged = commits[3].item.item_id
    await store.front.facts.add(
        LabelFact(item_id=judged, val="spam", is_negated=True, actor="ann", reason="no", at_ms=NOW_MS)
    )
    rules = RetentionRules()
    assert await sweep(store, rules) == {}
    assert await sweep(store, rules, items_ms=100 * DAY_MS) == {
        **{"run": 1, "effect": 1, "event": 1, "contribution": 1, "item": 1},
        **{"join_key": 1, "join_member": 1, "sighting": 1},
    }
    assert await store.state.item(commits[0].item.item_id) is None
    assert await store.state.resolve("src", ["in-1"]) == {"in-1": commits[0].item.item_id}
    assert (await store.state.counts())["items"] == 5
    newcomer = ended(8, item=8, age_days=0, contributions=shares(8, "both", "alone"))
    await store.state.commit([newcomer])
    [_, joined] = (await store.state.contributions([newcomer.item.item_id]))[newcomer.item.item_id]
    assert (joined.size, joined.leader) == (3, commits[1].item.item_id)


async def test_the_file_gets_smaller_only_when_it_is_compacted(path: Path, clock: FakeClock) -> None:
    store = SqliteStore.open(path, clock=clock, owner="me", synchronous="NORMAL")
    for _ in range(4):
        await store.log.append("t", records(*["x" * 2_000] * 1_000))
    for _ in range(4):
        await store.log.accept([delivery.lease for delivery in await claim(store.log, limit=1_000)])
    assert await sweep(store) == {"log": 4_000}
    assert await store.upkeep.free_bytes() > 6_000_000
    await store.close()
    before, after = _compact(path)
    assert after < before / 4
    assert not path.with_name("store.sqlite-wal").exists()


def _compact(path: Path) -> tuple[int, int]:
    before = path.stat().st_size
    compact_store(StoreFile(path))
    return before, path.stat().st_size


async def test_a_sweep_looks_at_what_it_deletes_by_its_index(store: SqliteStore, path: Path) -> None:
    from gristmill.adapters.sqlite.upkeep.sweeps import records as records_module

    for sql, bindings in ((records_module.FIND, (1, "[]", 0, 1_000)), (records_module.DELETE, (1, "[]", "[1]"))):
        connection = apsw.Connection(str(path))
        plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", bindings)]
        connection.close()
        assert not any(step.startswith(("SCAN log", "SCAN lease", "SCAN dead")) for step in plan), plan


async def test_what_came_in_is_counted_after_it_was_let_go_of(store: SqliteStore, clock: FakeClock) -> None:
    began_ms = clock.now_ms()
    for count in (3, 0, 6):
        if count:
            await store.log.append("t", records(*["x"] * count))
            await store.log.accept([delivery.lease for delivery in await claim(store.log)])
        clock.advance(300_000)
        await store.upkeep.sweep(RULES, now_ms=clock.now_ms())
    await store.log.append("t", records("x"))
    clock.advance(300_000)
    counted = await store.front.traffic.count(since_ms=began_ms, step_ms=310_000, limit=3)
    assert [one.appended for one in counted] == [3, 0, 7]
    [early] = await store.front.traffic.count(since_ms=began_ms - 600_000, step_ms=300_000, limit=1)
    assert early.appended == 0


async def test_owners_are_looked_for_without_going_through_all_letters_for_each(store: SqliteStore, path: Path) -> None:
    connection = apsw.Connection(str(path))
    plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {leftovers_module.FIND_OWNERS}", (0, 0, 9, "[]"))]
    connection.close()
    assert not any(step.startswith("CORRELATED") for step in plan), plan
