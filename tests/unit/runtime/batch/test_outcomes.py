"""One line from all that is stored about a record."""

from typing import Any

from gristmill.adapters.memory import MemoryStore
from gristmill.domain.commit import StoredQuarantine, StoredRun
from gristmill.domain.contribution import Join, Resolved
from gristmill.domain.ids import ItemId, RunId
from gristmill.domain.item import AppliedLabel, Cell
from gristmill.domain.log import DeadLetter, Diagnosis, NewRecord
from gristmill.domain.run import RunStatus, TaskReport
from gristmill.intake.fields import FieldMap
from gristmill.intake.mapping import RecordMapper
from gristmill.plans.plan import Generator
from gristmill.runtime.batch.outcomes import compose_line, read_outcomes
from gristmill.testing.clock import FakeClock

ITEM = ItemId(2026010100000000007)


def stored(plan: str = "p", status: RunStatus = "done", **given: Any) -> StoredRun:
    return StoredRun(
        run_id=RunId(plan),
        plan=plan,
        plan_version=1,
        generator="g",
        item_id=ITEM,
        position=5,
        status=status,
        started_at_ms=0,
        ended_at_ms=1,
        reason="",
        error=given.get("error", ""),
        attempt=1,
        tasks=given.get("tasks", ()),
        cells=given.get("cells", ()),
        labels=given.get("labels", ()),
        effects=(),
    )


def label(val: str) -> AppliedLabel:
    return AppliedLabel(val, 0.9, "why", ("piece",), "t", "op", "3")


def test_labels_and_fields_of_all_plans_meet_in_one_line() -> None:
    cell = Cell("screen", {"scores": [1], "labels": ["x"], "effects": [], "contributions": []}, "t", "op", "3")
    line = compose_line(
        "a", [stored("p", labels=(label("spam"),), cells=(cell,)), stored("q", labels=(label("lang"),))]
    )
    assert (line.id, line.item_id, line.status, line.error) == ("a", str(ITEM), "done", "")
    assert [(each.val, each.operator, each.revision) for each in line.labels] == [
        ("spam", "op", "3"),
        ("lang", "op", "3"),
    ]
    assert line.fields == {"screen": {"scores": [1]}}


def test_labels_that_follow_from_what_items_share_are_added() -> None:
    shared = Resolved(Join("exact", ("k",), "duplicate", "as {leader}"), ItemId(1), "first", 2, "t", "keys", "1")
    line = compose_line("a", [stored(tasks=(TaskReport("t", "done"),))], shared=[shared])
    assert [(each.val, each.reason, each.evidence) for each in line.labels] == [("duplicate", "as first", ("first",))]


def test_what_a_plan_of_another_input_has_found_to_be_shared_is_not_told_here() -> None:
    shared = Resolved(Join("exact", ("k",), "duplicate", "as {leader}"), ItemId(1), "first", 2, "t", "keys", "1")
    assert compose_line("a", [stored(tasks=(TaskReport("other", "done"),))], shared=[shared]).labels == ()


def test_the_worst_plan_decides_the_status() -> None:
    assert compose_line("a", [stored("p", "skipped")]).status == "done"
    assert compose_line("a", [stored("p", "rejected"), stored("q")]).status == "rejected"
    failed = compose_line("a", [stored("p", "rejected"), stored("q", "failed", error="no")])
    assert (failed.status, failed.error) == ("failed", "q: no")


def test_a_record_that_never_became_an_item_tells_its_faults() -> None:
    entry = StoredQuarantine(
        quarantine_id=1, source="s", generator="g", position=5, raw=b"{", reason="r", violations=("r", "s"), at_ms=0
    )
    line = compose_line("line-1", [], quarantined=entry)
    assert (line.status, line.item_id, line.error) == ("quarantined", None, "r; s")


def test_a_record_whose_engine_died_of_it_tells_so() -> None:
    diagnosis = Diagnosis("crashed", "the engine died 3 times")
    letter = DeadLetter(1, "t", "g", 5, 0, b"", "", {}, 4, diagnosis, 0)
    line = compose_line("a", [], dead=letter)
    assert (line.status, line.error) == ("failed", "crashed: the engine died 3 times")
    assert compose_line("a", []).error == "no result is stored"


async def test_a_header_that_anyone_may_write_moves_no_dead_letter_to_another_record() -> None:
    store = MemoryStore(FakeClock())
    generator = Generator(type="g", topic="t", plans=("p",))
    forged = {"gristmill-origin-offset": "2", "line": "1"}
    await store.log.append("t", [NewRecord(b"{}", headers=forged), NewRecord(b"{}", headers={"line": "2"})])
    [first, second] = await store.log.claim("t", "g", owner="me", limit=2, lease_ms=1_000)
    await store.log.reject(first.lease, Diagnosis("crashed", "died"))
    await store.log.accept([second.lease])
    mapper = RecordMapper(FieldMap(), source="s")
    lines = [line async for line in read_outcomes(store.log, store.state, generator=generator, mapper=mapper)]
    assert [(line.id, line.error) for line in lines] == [
        ("line-1", "crashed: died"),
        ("line-2", "no result is stored"),
    ]
