"""Acceptance checks of understanding: how plans, tasks, attempts, dedupe and writes behave within one Run."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Annotated, Any

import msgspec
import pytest
from msgspec.structs import replace

from gristmill import Cache, Effect, Item, Role, Skip, cell, kept, task
from gristmill.adapters.memory.cache import MemoryCache
from gristmill.domain.ids import RunId
from gristmill.domain.item import freeze
from gristmill.domain.log import Delivery, Lease
from gristmill.domain.run import RunStatus
from gristmill.engine.core.recovery import Origin
from gristmill.engine.driver import Driver, Ended
from gristmill.engine.work.record import RunDone, Todo, Work
from gristmill.operators.dedupe import ttl_dedupe
from gristmill.plans.plan import Generator
from gristmill.plans.resources import Need
from gristmill.ports.clock import Clock
from tests.driving import ITEM, JumpingClock, build_driver, drive, drive_with, statuses

TIMER = Need(Clock, "test")
Timer = Annotated[Clock, Role("test")]


@cell("note")
class Note(msgspec.Struct, frozen=True):
    text: str


@kept
class Sent(msgspec.Struct, frozen=True):
    effects: tuple[Effect, ...]


class Calls(Counter[str]):
    """Counts calls of task bodies by name; a task named in `failing` raises that many times first."""

    def __init__(self, **failing: int) -> None:
        super().__init__()
        self.failing = Counter(failing)
        self.at_ms: list[int] = []

    def note(self, name: str, clock: Clock | None = None) -> None:
        self[name] += 1
        if clock is not None:
            self.at_ms.append(clock.now_ms())
        if self.failing[name] > 0:
            self.failing[name] -= 1
            raise ValueError(f"x of {name}")


async def test_AC_UN_013_a_plan_that_crops_media_leaves_them_whole_for_the_next() -> None:
    seen: list[int] = []

    @task
    def crop(item: Item) -> Note:
        media = item.ext["media"]
        with pytest.raises((TypeError, AttributeError)):
            del media[0]
        with pytest.raises(TypeError):
            item.ext["media"] = media[:1]  # type: ignore[index]
        return Note(",".join(media[:1]))

    @task
    def read(item: Item) -> None:
        seen.append(len(item.ext["media"]))

    item = replace(ITEM, ext=freeze({"media": ["a.jpg", "b.jpg", "c.jpg"]}))
    cropped = await drive(crop, item=item)
    await drive(read, item=item)
    assert cropped.cells[0].value == Note("a.jpg")
    assert seen == [3]


async def test_AC_UN_028_an_error_keeps_its_text() -> None:
    @task
    def broken(item: Item) -> None:
        raise ValueError("x")

    ended = await drive(broken)
    assert not ended.is_success
    assert (ended.error, ended.error_class, ended.failed_task) == ("ValueError: x", "ValueError", "broken")


async def test_AC_UN_029_a_filter_that_says_no_skips_the_chain_and_the_plan_is_a_success() -> None:
    calls = Calls()

    @task
    def only_long(item: Item) -> Skip | None:
        return Skip("too short")

    @task
    def x(item: Item) -> None:
        calls.note("x")

    @task
    def y(item: Item) -> None:
        calls.note("y")

    ended = await drive(only_long, x.use(after=[only_long]), y.use(after=["x"]))
    assert statuses(ended) == {"only_long": "skipped", "x": "skipped", "y": "skipped"}
    assert not calls
    assert (ended.is_success, ended.status, ended.reason) == (True, "skipped", "too short")


async def test_AC_UN_030_a_skip_in_one_arm_of_a_diamond_skips_its_end_but_not_the_other_arm() -> None:
    calls = Calls()

    @task
    def a(item: Item) -> None:
        calls.note("a")

    @task
    def b(item: Item) -> Skip | None:
        return Skip("not for b")

    @task
    async def c(item: Item) -> None:
        calls.note("c")

    @task
    def d(item: Item) -> None:
        calls.note("d")

    ended = await drive(a, b.use(after=[a]), c.use(after=[a]), d.use(after=["b", "c"]))
    assert statuses(ended) == {"a": "done", "b": "skipped", "c": "done", "d": "skipped"}
    assert calls == {"a": 1, "c": 1}
    assert ended.status == "done"


async def test_AC_UN_031_a_task_has_two_attempts_a_second_apart_and_a_classifier_one() -> None:
    clock, calls = JumpingClock(), Calls(embed=1, classify=1)

    @task
    def embed(item: Item) -> None:
        calls.note("embed", clock)

    @task(attempts=1)
    async def classify(item: Item) -> None:
        calls.note("classify")

    ended = await drive(embed, clock=clock)
    assert ended.is_success
    assert calls["embed"] == 2
    assert calls.at_ms[1] - calls.at_ms[0] >= 1_000
    assert [report.attempts for report in ended.tasks] == [2]

    ended = await drive(classify, clock=clock)
    assert (ended.status, ended.error) == ("failed", "ValueError: x of classify")
    assert calls["classify"] == 1


async def test_AC_UN_032_a_writer_with_three_attempts_is_called_at_0_1_and_3_seconds() -> None:
    clock, calls = JumpingClock(), Calls(write=2)

    @task(attempts=3, waits_ms=[1_000, 2_000])
    async def write(item: Item) -> None:
        calls.note("write", clock)

    started_at_ms = clock.now_ms()
    ended = await drive(write, clock=clock)
    assert ended.status == "done"
    assert [at_ms - started_at_ms for at_ms in calls.at_ms] == [0, 1_000, 3_000]


async def test_AC_UN_033_independent_tasks_run_beside_each_other() -> None:
    clock, meeting = JumpingClock(), asyncio.Barrier(2)

    @task
    async def b(item: Item, clock: Timer) -> None:
        await meeting.wait()
        await clock.sleep_ms(500)

    @task
    async def c(item: Item, clock: Timer) -> None:
        await meeting.wait()
        await clock.sleep_ms(500)

    started_at_ms = clock.now_ms()
    ended = await drive(b, c, clock=clock)
    assert ended.status == "done"
    assert clock.now_ms() - started_at_ms < 800


async def test_AC_UN_034_one_failed_plan_fails_the_record_with_its_text_alone_and_keeps_what_the_other_wrote() -> None:
    @task
    def good(item: Item) -> Note:
        return Note("written")

    @task
    def bad(item: Item) -> Note:
        raise ValueError("only of p2")

    p1, p2 = await drive(good), await drive(bad)
    diagnosis = record_of_two(p1, p2).diagnose()
    assert diagnosis is not None
    assert (diagnosis.error_text, diagnosis.plans, diagnosis.task) == ("ValueError: only of p2", ("p2",), "bad")
    assert [written.value for written in p1.cells] == [Note("written")]
    assert p2.cells == ()


def record_of_two(p1: Ended, p2: Ended) -> Work:
    """The record whose Runs these were, as the engine holds it until its commit."""
    lease = Lease("posts", "group", 1, "owner", 1)
    return Work(
        connection=0,
        frame_id=1,
        delivery=Delivery(lease, b"", "", {}, 1, 0),
        generator=Generator(type="posts", topic="posts", plans=("p1", "p2")),
        origin=Origin("posts", 1, 0),
        received_at_us=0,
        done=[RunDone(Todo(plan, RunId(plan)), ended, 0, 1, 1) for plan, ended in (("p1", p1), ("p2", p2))],
    )


class Deduped:
    """One plan, `ttl_dedupe` then a model call, on one shared cache and clock."""

    def __init__(self, *, failing: int = 0) -> None:
        self.clock = JumpingClock()
        self.marks = MemoryCache(self.clock)
        self.calls = Calls(ask=failing)

    def driver(self, key: str = "plan") -> Driver:
        calls = self.calls

        @task(attempts=1)
        async def ask(item: Item) -> None:
            calls.note("ask")

        resources = {Need(Cache, "dedupe"): self.marks}
        return build_driver(ttl_dedupe, ask.use(after=[ttl_dedupe]), clock=self.clock, resources=resources, key=key)

    async def run(self, run_id: str, key: str = "plan") -> RunStatus:
        """Drive the item once, commit, and tell the Run how that went."""
        ended = await drive_with(self.driver(key), run_id=run_id, plan=key)
        for settle in ended.on_end:
            await settle(ended.is_success)
        return ended.status


async def test_AC_UN_035_an_item_is_worked_on_once_within_sixty_seconds() -> None:
    world = Deduped()
    assert await world.run("first") == "done"
    world.clock.advance(59_000)
    assert await world.run("second") == "skipped"
    assert world.calls["ask"] == 1
    world.clock.advance(2_000)
    assert await world.run("third") == "done"
    assert world.calls["ask"] == 2


async def test_AC_UN_036_a_failed_run_does_not_swallow_its_redelivery() -> None:
    world = Deduped(failing=1)
    assert await world.run("first") == "failed"
    world.clock.advance(10_000)
    assert await world.run("first") == "done"
    assert world.calls["ask"] == 2
    assert await world.run("another record") == "skipped"


async def test_AC_UN_037_two_plans_do_not_share_their_marks() -> None:
    world = Deduped()
    endings = await asyncio.gather(world.run("one", "standard"), world.run("two", "special"))
    assert set(endings) == {"done"}
    assert world.calls["ask"] == 2


@task(sink=True)
def publish(item: Item) -> Sent:
    return Sent((Effect(sink="labels", action="set", subject=item.input_id, payload={"label": "spam"}),))


async def test_AC_UN_087_with_writes_off_the_writer_is_skipped_and_the_plan_a_success() -> None:
    ended = await drive(publish, writes="off")
    assert statuses(ended) == {"publish": "skipped"}
    assert ended.tasks[0].reason == "writes are off"
    assert (ended.is_success, ended.effects) == (True, ())


async def test_AC_UN_088_the_shadow_record_equals_the_one_that_would_be_carried_out() -> None:
    carried_out, shadow = await drive(publish, writes="on"), await drive(publish, writes="shadow")
    assert len(shadow.effects) == 1
    assert [effect.mode for effect in shadow.effects] == ["shadow"]
    assert [replace(effect, mode="on") for effect in shadow.effects] == list(carried_out.effects)
    assert effects_of(shadow) == effects_of(carried_out)


def effects_of(ended: Ended) -> Any:
    return [(effect.sink, effect.action, effect.subject, effect.payload, effect.task) for effect in ended.effects]
