"""What an engine does with a frame: items and ids, several plans, redelivery, conflicts and faults."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from gristmill.domain.commit import Commit, CommitOutcome
from gristmill.domain.errors import InvariantBroken, Unavailable
from gristmill.domain.frame import Frame
from gristmill.domain.ids import ItemId, compute_run_id
from gristmill.domain.intake import MappedRecord
from gristmill.domain.log import Delivery, Diagnosis, Lease, NewRecord
from gristmill.engine.core.recovery import Recover, RecoveryPolicy, decide_failure
from gristmill.plans.plan import Generator
from gristmill.testing.contracts.backend import make_commit
from tests.dispatching import decode_text
from tests.serving import ALIKE, ECHO, ENDS, ODD, SLOW, TELL, Bench


async def test_records_become_items_and_are_accepted_in_their_commit() -> None:
    bench = Bench(ECHO)
    await bench.start()
    endings = await bench.run("a", "b")
    assert [ended.accepted for ended in endings] == [True, True]
    runs = await bench.state.runs_between("G", after=0, limit=10)
    assert [run.cells[0].value for run in runs] == [{"text": "a"}, {"text": "b"}]
    events = await bench.state.events(runs[0].item_id)
    assert [(event.kind, event.body) for event in events] == [
        ("item.ingested", {"revision": 1}),
        ("run.ended", {"status": "done", "labels": []}),
    ]
    await bench.engine.stop()


async def test_one_input_id_twice_in_a_frame_is_one_item_with_two_revisions() -> None:
    bench = Bench(ECHO)
    await bench.start()
    assert all(ended.accepted for ended in await bench.run("a", "a", "b"))
    assert (await bench.state.counts())["items"] == 2
    (item_id,) = (await bench.state.resolve("posts", ["a"])).values()
    item = await bench.state.item(item_id)
    assert item is not None
    assert item.revision == 2
    assert len(await bench.state.runs(item_id)) == 2
    await bench.engine.stop()


async def test_a_known_input_id_keeps_its_item_over_frames() -> None:
    bench = Bench(ECHO)
    await bench.start()
    await bench.run("a")
    await bench.run("a")
    assert (await bench.state.counts())["items"] == 1
    await bench.engine.stop()


async def test_a_frame_is_admitted_while_the_one_before_is_still_being_written() -> None:
    bench = Bench(ECHO)
    await bench.start()
    await bench.world.append("posts", "a")
    first = await bench.claim()
    await bench.world.append("posts", "a")
    second = await bench.claim()
    await bench.send(first)
    await bench.send(second)
    assert [ended.accepted for ended in await bench.receive(2)] == [True, True]
    assert bench.world.sample("engine_id_conflict_total") == 0
    assert (await bench.state.counts())["items"] == 1
    await bench.engine.stop()


async def test_a_broken_record_goes_to_quarantine_with_its_bytes() -> None:
    bench = Bench(ECHO)
    await bench.start()
    endings = await bench.run("!broken", "fine")
    assert [ended.accepted for ended in endings] == [True, True]
    (kept,) = await bench.state.quarantined("G")
    assert (kept.raw, kept.reason, kept.source) == (b"!broken", "broken", "posts")
    assert bench.world.sample("engine_task_quarantined_total") == 1
    await bench.engine.stop()


async def test_tenants_share_no_groups() -> None:
    def decode(delivery: Delivery, generator: Generator) -> MappedRecord:
        tenant, number = delivery.value.decode().split()
        return MappedRecord(number, generator.kind, "posts", "same words", tenant=tenant)

    bench = Bench(ALIKE, decode=decode)
    await bench.start()
    assert all(ended.accepted for ended in await bench.run("main 1", "acme 1", "acme 2"))
    runs = await bench.state.runs_between("G", after=0, limit=10)
    shared = await bench.state.contributions([run.item_id for run in runs])
    groups = {(one.contribution.space, one.leader_input_id, one.size) for each in shared.values() for one in each}
    assert groups == {("words", "1", 1), ("acme/words", "1", 2)}
    assert shared[runs[1].item_id][0].leader == runs[1].item_id
    await bench.engine.stop()


async def test_a_decoder_that_raises_fails_the_record_and_no_other() -> None:
    def decode(delivery: Delivery, generator: Generator) -> Any:
        if delivery.value == b"trap":
            raise KeyError("mapping is broken")
        return decode_text(delivery, generator)

    bench = Bench(ECHO, decode=decode)
    await bench.start()
    trapped, fine = sorted(await bench.run("trap", "fine"), key=lambda ended: ended.lease.offset)
    assert trapped.diagnosis is not None
    assert trapped.diagnosis.error_class == "KeyError"
    assert fine.accepted
    await bench.engine.stop()


async def test_only_the_plans_that_failed_are_reported_and_run_again() -> None:
    ENDS.clear()
    bench = Bench(ECHO, TELL)
    await bench.start()
    (ended,) = await bench.run("bad")
    assert not ended.accepted
    assert ended.diagnosis is not None
    assert (ended.diagnosis.plans, ended.diagnosis.task) == (("tell",), "tell")
    runs = await bench.state.runs_between("G", after=0, limit=10)
    assert {run.plan: run.status for run in runs} == {"echo": "done", "tell": "failed"}
    await bench.log.release([ended.lease])
    (delivery,) = await bench.claim()
    assert delivery.attempt == 2
    await bench.send([delivery])
    (again,) = await bench.receive(1)
    assert again.diagnosis is not None
    runs = await bench.state.runs_between("G", after=0, limit=10)
    assert {run.plan: run.attempt for run in runs} == {"echo": 1, "tell": 2}
    kinds = [event.kind for event in await bench.state.events(runs[0].item_id)]
    assert kinds.count("item.ingested") == 1
    await bench.engine.stop()


async def test_a_redelivered_record_whose_runs_all_ended_is_only_accepted() -> None:
    bench = Bench(ECHO)
    await bench.start()
    await bench.world.append("posts", "a")
    (delivery,) = await bench.claim()
    run_id = compute_run_id(generator="G", topic="posts", offset=delivery.lease.offset, plan="echo")
    run = make_commit(1, run_id=run_id, plan="echo", generator="G")
    await bench.state.commit([run])
    delivery = msgspec.structs.replace(delivery, attempt=2)
    await bench.send([delivery])
    (ended,) = await bench.receive(1)
    assert ended.accepted
    assert (await bench.state.runs(run.item.item_id))[0].attempt == 1
    await bench.engine.stop()


async def test_a_lost_lease_is_reported_and_nothing_is_written() -> None:
    ENDS.clear()
    bench = Bench(TELL)
    await bench.start()
    await bench.world.append("posts", "a")
    (delivery,) = await bench.claim()
    await bench.log.release([delivery.lease])
    await bench.claim()
    await bench.send([delivery])
    (ended,) = await bench.receive(1)
    assert (ended.accepted, ended.fenced) == (False, True)
    assert (await bench.state.counts())["runs"] == 0
    assert ENDS == [("a", False)]
    await bench.engine.stop()


async def test_an_id_that_another_engine_issued_first_wins_and_the_record_runs_again() -> None:
    bench = Bench(SLOW)
    await bench.start()
    await bench.world.append("posts", "a")
    deliveries = await bench.claim()
    await bench.send(deliveries)
    await bench.world.clock.sleep_ms(500)
    other = ItemId(20_200_101 * 10**11)
    await bench.world.store.state.map_ids("posts", {"a": other})
    (ended,) = await bench.receive(1)
    assert ended.accepted
    assert [run.status for run in await bench.state.runs(other)] == ["done"]
    assert bench.world.sample("engine_id_conflict_total") == 1
    assert (await bench.state.counts())["items"] == 1
    await bench.engine.stop()


async def test_callbacks_hear_of_success_after_the_commit_and_of_failure() -> None:
    ENDS.clear()
    bench = Bench(TELL)
    await bench.start()
    await bench.run("good", "bad", "broken end")
    assert sorted(ENDS) == [("bad", False), ("broken end", True), ("good", True)]
    assert bench.world.sample("engine_callback_error_total") == 1
    await bench.engine.stop()


async def test_what_cannot_be_written_fails_alone() -> None:
    bench = Bench(ODD)
    await bench.start()
    endings = sorted(await bench.run("even", "odd", "even too"), key=lambda ended: ended.lease.offset)
    assert [ended.accepted for ended in endings] == [True, False, True]
    assert endings[1].diagnosis is not None
    await bench.engine.stop()


async def test_a_store_that_is_down_is_tried_until_it_is_up() -> None:
    class Down:
        capabilities = frozenset({"shares_log"})
        down_for = 3

        def __init__(self, state: Any) -> None:
            self._state = state

        def __getattr__(self, name: str) -> Any:
            return getattr(self._state, name)

        async def commit(self, commits: Sequence[Commit]) -> list[CommitOutcome]:
            if self.down_for:
                self.down_for -= 1
                raise Unavailable("store is down")
            outcomes: list[CommitOutcome] = await self._state.commit(commits)
            return outcomes

    plain = Bench(ECHO)
    bench = Bench(ECHO, clock=plain.world.clock, store=plain.world.store, state=Down(plain.state))
    await bench.start()
    (ended,) = await bench.run("a")
    assert ended.accepted
    assert bench.world.clock.now_ms() - 1_700_000_000_000 >= 100 + 200 + 400
    await bench.engine.stop()


async def test_a_broken_store_ends_the_engine_and_costs_no_record() -> None:
    class Broken:
        capabilities = frozenset({"shares_log"})

        def __init__(self, state: Any) -> None:
            self._state = state

        def __getattr__(self, name: str) -> Any:
            return getattr(self._state, name)

        async def commit(self, commits: Sequence[Commit]) -> list[CommitOutcome]:
            raise InvariantBroken("store", value="no such column: x")

    plain = Bench(ECHO)
    bench = Bench(ECHO, clock=plain.world.clock, store=plain.world.store, state=Broken(plain.state))
    await bench.start()
    await bench.world.append("posts", "a", "b")
    await bench.send(await bench.claim())
    with pytest.raises(ExceptionGroup) as caught:
        await bench.engine.join()
    assert caught.group_contains(InvariantBroken, match="no such column")
    await bench.engine.stop()
    assert (await bench.log.lag("posts", "G")).in_flight == 2


async def test_a_store_apart_from_the_log_is_written_first_and_the_record_accepted_afterwards() -> None:
    class Apart:
        capabilities: frozenset[str] = frozenset()

        def __init__(self, state: Any) -> None:
            self._state = state

        def __getattr__(self, name: str) -> Any:
            return getattr(self._state, name)

        async def commit(self, commits: Sequence[Commit]) -> list[CommitOutcome]:
            assert not any(getattr(commit, "accept", False) for commit in commits)
            outcomes: list[CommitOutcome] = await self._state.commit(commits)
            return outcomes

    plain = Bench(ECHO)
    bench = Bench(ECHO, clock=plain.world.clock, store=plain.world.store, state=Apart(plain.state))
    await bench.start()
    assert [ended.accepted for ended in await bench.run("a", "b")] == [True, True]
    assert (await bench.log.lag("posts", "G")).in_flight == 0
    await bench.engine.stop()


async def test_a_frame_that_cannot_be_admitted_is_handed_back() -> None:
    class NoIds:
        capabilities = frozenset({"shares_log"})

        def __getattr__(self, name: str) -> Any:
            raise AssertionError(name)

        async def resolve(self, source: str, input_ids: Sequence[str], *, tenant: str) -> dict[str, ItemId]:
            return {}

        async def take_segment(self, *args: Any, **options: Any) -> Any:
            raise Unavailable("store is down")

    bench = Bench(ECHO, state=NoIds())
    await bench.start()
    (ended,) = await bench.run("a")
    assert (ended.accepted, ended.fenced, ended.diagnosis) == (False, False, None)
    assert bench.engine.open_count == 0
    await bench.engine.stop()


async def test_a_frame_of_an_unknown_generator_is_handed_back() -> None:
    bench = Bench(ECHO)
    await bench.start()
    await bench.world.append("posts", "a")
    await bench.link.send("engine-0", Frame(1, "stranger", tuple(await bench.claim())))
    (ended,) = await bench.receive(1)
    assert (ended.accepted, ended.fenced, ended.diagnosis) == (False, False, None)
    await bench.engine.stop()


async def test_a_recovery_record_of_a_plan_that_is_gone_fails_and_says_so() -> None:
    bench = Bench(ECHO)
    await bench.start()
    await bench.log.append("G.recovery", [NewRecord(b"a", headers=recovery_headers(plans="gone"))])
    await bench.send(await bench.claim("G.recovery"))
    (ended,) = await bench.receive(1)
    assert ended.diagnosis is not None
    assert (ended.diagnosis.error_class, ended.diagnosis.plans) == ("plan_unknown", ("gone",))
    await bench.engine.stop()


async def test_a_recovery_record_keeps_the_place_where_it_first_stood() -> None:
    seen: list[Delivery] = []

    def decode(delivery: Delivery, generator: Generator) -> Any:
        seen.append(delivery)
        return decode_text(delivery, generator)

    bench = Bench(ECHO, TELL, decode=decode)
    await bench.start()
    await bench.log.append("G.recovery", [NewRecord(b"a", headers=recovery_headers(plans="tell"))])
    await bench.send(await bench.claim("G.recovery"))
    (ended,) = await bench.receive(1)
    assert ended.accepted
    (run,) = await bench.state.runs_between("G", after=0, limit=10)
    assert (run.plan, run.position, run.attempt) == ("tell", 17, 2)
    assert run.run_id == compute_run_id(generator="G", topic="posts", offset=17, plan="tell")
    assert [(each.lease.topic, each.lease.offset, each.appended_at_ms) for each in seen] == [("posts", 17, 100)]
    await bench.engine.stop()


def recovery_headers(*, plans: str) -> dict[str, str]:
    """Headers of a first recovery of record 17 of `posts`."""
    delivery = Delivery(Lease("posts", "G", 17, "engine-0", 1), b"a", "", {}, 1, 100)
    diagnosis = Diagnosis(error_class="E", error_text="x", plans=(plans,))
    decision = decide_failure(
        delivery, diagnosis, recovery_topic="G.recovery", policy=RecoveryPolicy(), owner="engine-0", now_ms=0
    )
    assert isinstance(decision, Recover)
    return decision.record.headers
