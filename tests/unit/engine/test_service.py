"""What an engine does with a frame: items and ids, several plans, redelivery, conflicts, faults, and stopping."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
import pytest

from gristmill import Item, Plan, Role, cell, task
from gristmill.domain.commit import Commit, CommitOutcome
from gristmill.domain.errors import Unavailable
from gristmill.domain.frame import EngineHello, Frame, FrameDone, RecordEnded, Stop
from gristmill.domain.ids import ItemId
from gristmill.domain.log import Delivery
from gristmill.engine.link import Joined, Left, LocalLink, Said
from gristmill.engine.settings import EngineSettings
from gristmill.plans.plan import Generator
from gristmill.plans.resources import RunScope
from gristmill.ports.clock import Clock
from tests.dispatching import World, decode_text

NOW = Annotated[Clock, Role("time")]


@cell("echo")
class Echo(msgspec.Struct, frozen=True):
    text: str


@cell("odd")
class Odd(msgspec.Struct, frozen=True):
    value: Any


ENDS: list[tuple[str, bool]] = []


@task
def echo(item: Item) -> Echo:
    return Echo(item.text)


@task(attempts=1)
def tell(item: Item, scope: RunScope) -> Echo:
    async def note(is_success: bool) -> None:
        ENDS.append((item.text, is_success))
        if item.text == "broken end":
            raise OSError("callback is broken")

    scope.on_end(note)
    if item.text == "bad":
        raise ValueError("the text is bad")
    return Echo(item.text)


@task(attempts=1, timeout_ms=1_000_000)
async def slow(item: Item, clock: NOW) -> Echo:
    await clock.sleep_ms(1_000)
    if item.text == "bad":
        raise ValueError("slow and bad")
    return Echo(item.text)


@task(attempts=1)
def odd(item: Item) -> Odd:
    return Odd(object() if item.text == "odd" else 1)


ECHO, TELL, SLOW = Plan("echo", tasks=[echo]), Plan("tell", tasks=[tell]), Plan("slow", tasks=[slow])
ODD = Plan("odd", tasks=[odd])


class Bench:
    """An engine with the test in the dispatcher's place."""

    def __init__(self, *plans: Plan, **options: Any) -> None:
        self.generator = Generator(type="G", topic="posts", plans=tuple(plan.key for plan in plans))
        self.world = World(plans, [self.generator], **options)
        self.engine, self.log, self.state = self.world.engines[0], self.world.log, self.world.state
        self.link: LocalLink = self.world.link
        self.frame_id = 0

    async def start(self) -> None:
        await self.engine.start()
        assert await self.link.receive() == Joined(EngineHello("engine-0", 512))

    async def claim(self, topic: str = "posts") -> list[Delivery]:
        return await self.log.claim(topic, "G", owner="engine-0", limit=100, lease_ms=10**7)

    async def send(self, deliveries: Sequence[Delivery]) -> None:
        self.frame_id += 1
        await self.link.send("engine-0", Frame(self.frame_id, "G", tuple(deliveries)))

    async def receive(self, count: int) -> list[RecordEnded]:
        """Return the next `count` endings, in whatever parts they come."""
        endings: list[RecordEnded] = []
        while len(endings) < count:
            event = await self.link.receive()
            assert isinstance(event, Said)
            assert isinstance(event.message, FrameDone)
            endings += event.message.ended
        return endings

    async def run(self, *texts: str) -> list[RecordEnded]:
        await self.world.append("posts", *texts)
        deliveries = await self.claim()
        await self.send(deliveries)
        return await self.receive(len(deliveries))


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
    await bench.run("a")
    (run,) = await bench.state.runs_between("G", after=0, limit=10)
    group = bench.world.store.log.ledger.topics["posts"].groups["G"]
    group.cursor = 0
    (delivery,) = await bench.claim()
    delivery = msgspec.structs.replace(delivery, attempt=2)
    await bench.send([delivery])
    (ended,) = await bench.receive(1)
    assert ended.accepted
    assert (await bench.state.runs(run.item_id))[0].attempt == 1
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
    bench.world.store.state._ids["posts", "a"] = other
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

        async def resolve(self, source: str, input_ids: Sequence[str]) -> dict[str, ItemId]:
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


async def test_slow_plans_of_a_record_run_beside_each_other_and_are_committed_together() -> None:
    bench = Bench(SLOW, ECHO, Plan("slow_too", tasks=[slow]))
    await bench.start()
    (ended,) = await bench.run("a")
    assert ended.accepted
    assert bench.world.clock.now_ms() - 1_700_000_000_000 == 1_000
    runs = await bench.state.runs_between("G", after=0, limit=10)
    assert {run.plan for run in runs} == {"slow", "echo", "slow_too"}
    await bench.engine.stop()


async def test_no_more_slow_records_are_worked_on_than_allowed() -> None:
    bench = Bench(SLOW, engine=EngineSettings(max_concurrency=2))
    await bench.start()
    assert all(ended.accepted for ended in await bench.run(*"abcdef"))
    assert bench.world.clock.now_ms() - 1_700_000_000_000 == 3_000
    await bench.engine.stop()


async def test_a_stop_finishes_what_is_under_way_within_its_grace() -> None:
    bench = Bench(SLOW)
    await bench.start()
    await bench.world.append("posts", "a")
    await bench.send(await bench.claim())
    await bench.world.clock.sleep_ms(100)
    await bench.engine.stop(grace_ms=5_000)
    (ended,) = await bench.receive(1)
    assert ended.accepted
    assert await bench.link.receive() == Left("engine-0")


async def test_a_stop_commits_nothing_that_outlasts_its_grace() -> None:
    bench = Bench(SLOW)
    await bench.start()
    await bench.world.append("posts", "a")
    await bench.send(await bench.claim())
    await bench.world.clock.sleep_ms(100)
    await bench.engine.stop(grace_ms=500)
    await bench.engine.stop()
    assert await bench.link.receive() == Left("engine-0")
    assert (await bench.state.counts())["runs"] == 0
    assert bench.world.sample("engine_task_cancelled_total") == 1


async def test_the_word_that_no_more_frames_will_come_is_passed_on() -> None:
    bench = Bench(ECHO)
    await bench.start()
    await bench.link.send("engine-0", Stop())
    await bench.engine.stop_requested.wait()
    await bench.engine.stop()


async def test_when_the_dispatcher_goes_what_it_sent_is_given_back_uncounted() -> None:
    bench = Bench(SLOW)
    await bench.start()
    await bench.world.append("posts", "a")
    await bench.send(await bench.claim())
    await bench.world.clock.sleep_ms(100)
    await bench.link.close()
    assert await bench.link.receive() == Left("engine-0")
    assert isinstance(await bench.link.receive(), Joined)
    await bench.world.clock.sleep_ms(100)
    (delivery,) = await bench.claim()
    assert delivery.attempt == 1
    await bench.send([delivery])
    (ended,) = await bench.receive(1)
    assert ended.accepted
    assert bench.engine.open_count == 0
    await bench.engine.stop()


async def test_join_tells_what_ended_an_engine() -> None:
    bench = Bench(ECHO)
    await bench.engine.join()

    async def broken() -> Any:
        raise OSError("link is broken")

    bench.engine._link.receive = broken  # type: ignore[method-assign]
    await bench.engine.start()
    with pytest.raises(ExceptionGroup) as caught:
        await bench.engine.join()
    assert caught.group_contains(OSError, match="link is broken")
    await bench.engine.stop()


async def test_starting_and_stopping_twice_is_harmless() -> None:
    bench = Bench(ECHO)
    await bench.engine.stop()
    await bench.start()
    await bench.engine.start()
    await asyncio.gather(bench.engine.stop(), bench.engine.stop())
    await bench.engine.join()
