"""One Run through the driver: what it waits for, what its tasks are given, and what it wants written."""

from __future__ import annotations

from typing import Annotated

import pytest
from structlog.testing import capture_logs

from gristmill import Cache, Fail, Item, Join, Role, RunScope, Situation, Skip, task
from gristmill.domain.commit import Contributed
from gristmill.domain.errors import ConfigError
from gristmill.domain.ids import RunId
from gristmill.domain.item import AppliedLabel, Cell
from gristmill.engine.driver import Driver, Scope
from gristmill.ports.clock import Clock
from tests.driving import ITEM, JumpingClock, build_driver, drive, drive_with, reasons, register, statuses
from tests.unit.engine.run.samples import Verdict, Words, flaky, words


def test_a_plan_of_inline_tasks_is_driven_without_an_event_loop() -> None:
    ended = build_driver(words).try_drive_nowait(ITEM, Scope(RunId("r"), "plan"))
    assert ended is not None
    assert ended.cells == (Cell("words", words(ITEM), "words", "words", "7"),)


def test_a_plan_that_begins_with_an_async_task_is_not_begun_without_waiting() -> None:
    log: list[str] = []

    @task
    def first(item: Item) -> None:
        log.append("first")

    @task
    async def second(item: Item) -> None: ...

    assert build_driver(first, second).try_drive_nowait(ITEM, Scope(RunId("r"), "plan")) is None
    assert log == []


def test_a_run_whose_async_tasks_are_skipped_ends_without_waiting() -> None:
    @task
    def gate(item: Item) -> Words | Skip:
        return Skip("nothing to wait for")

    @task
    async def slow(item: Item, words: Words) -> Verdict:
        raise AssertionError("never started")

    ended = build_driver(words.use(name="own"), gate, slow.use(bind={"words": gate})).try_drive_nowait(
        ITEM, Scope(RunId("r"), "plan")
    )
    assert ended is not None
    assert statuses(ended) == {"own": "done", "gate": "skipped", "slow": "skipped"}


async def test_an_async_task_behind_inline_ones_is_handed_over_with_what_they_found() -> None:
    log: list[str] = []

    @task
    def first(item: Item) -> Words:
        log.append("first")
        return Words(1)

    @task
    async def slow(item: Item, words: Words) -> Verdict:
        log.append("slow")
        return Verdict(allowed=words.count == 1)

    @task
    def last(item: Item, verdict: Verdict) -> None:
        log.append("last")

    driver, scope = build_driver(first, slow, last), Scope(RunId("r"), "plan")
    assert driver.try_drive_nowait(ITEM, scope) is None
    assert log == ["first"]
    ended = await driver.drive(ITEM, scope)
    assert log == ["first", "slow", "last"]
    assert statuses(ended) == {"first": "done", "slow": "done", "last": "done"}


def test_an_async_task_that_a_closed_run_can_do_without_is_never_started() -> None:
    @task
    async def slow(item: Item, words: Words) -> Verdict:
        raise AssertionError("never started")

    @task
    def broken(item: Item, words: Words) -> Fail:
        return Fail("no use")

    ended = build_driver(words, slow, broken).try_drive_nowait(ITEM, Scope(RunId("r"), "plan"))
    assert ended is not None
    assert statuses(ended) == {"words": "done", "slow": "not_started", "broken": "failed"}


async def test_a_retry_that_has_to_wait_goes_on_in_drive_and_no_finished_task_is_called_again() -> None:
    log: list[str] = []

    @task
    def first(item: Item) -> Words:
        log.append("first")
        return Words(1)

    @task
    def other(item: Item) -> None:
        log.append("other")

    clock = JumpingClock()
    driver, scope = build_driver(first, flaky(log), other.use(after=["flaky"]), clock=clock), Scope(RunId("r"), "plan")
    assert driver.try_drive_nowait(ITEM, scope) is None
    assert log == ["first", "flaky"]
    ended = await driver.drive(ITEM, scope)
    assert log == ["first", "flaky", "flaky", "other"]
    assert clock.waits_ms == [1_000]
    assert statuses(ended) == {"first": "done", "flaky": "done", "other": "done"}
    assert [report.attempts for report in ended.tasks] == [1, 2, 1]
    assert ended.tasks[1].duration_us >= 1_000_000


def test_a_postponed_task_that_the_run_can_do_without_is_dropped_at_once() -> None:
    log: list[str] = []

    @task
    def broken(item: Item, words: Words) -> Fail:
        return Fail("no use")

    ended = build_driver(words, flaky(log), broken).try_drive_nowait(ITEM, Scope(RunId("r"), "plan"))
    assert ended is not None
    assert (ended.status, ended.error) == ("failed", "no use; OSError: not yet")
    assert statuses(ended) == {"words": "done", "flaky": "failed", "broken": "failed"}
    assert ended.cells == ()


async def test_a_disable_rule_with_a_reason_skips_the_task() -> None:
    seen: list[Situation] = []

    def only_in_prod(situation: Situation) -> str | None:
        seen.append(situation)
        return None if situation.environment == "prod" else f"not in {situation.environment}"

    @task(disable=[only_in_prod])
    def writer(item: Item) -> Words:
        return Words(1)

    ended = await drive(writer)
    assert reasons(ended) == {"writer": "not in test"}
    assert seen == [Situation(environment="test", writes="on", plan="plan", task="writer")]
    driver = Driver(register(writer), resources={}, clock=JumpingClock(), environment="prod")
    assert (await drive_with(driver)).status == "done"


async def test_a_disable_rule_that_raises_fails_its_task() -> None:
    def broken(situation: Situation) -> str | None:
        raise KeyError("flag")

    @task(disable=[broken])
    def writer(item: Item) -> None: ...

    assert (await drive(writer)).error == "disable rule: KeyError: 'flag'"


def test_a_missing_resource_is_refused_by_name() -> None:
    @task
    def needs(item: Item, marks: Annotated[Cache, Role("seen")]) -> None: ...

    with pytest.raises(ConfigError, match=r"plan 'plan' needs a resource: \"Cache 'seen'\""):
        build_driver(needs)


async def test_configuration_resources_and_the_run_itself_reach_the_function() -> None:
    clock = JumpingClock()

    async def settle(succeeded: bool) -> None: ...

    @task
    def look(
        item: Item, scope: RunScope, words: Words | None, timer: Annotated[Clock, Role("any")], *, limit: int = 1
    ) -> None:
        assert (scope.run_id, scope.plan, scope.position, scope.attempt) == ("r", "plan", 9, 2)
        assert scope.arrived_at_ms == 5
        assert (words, timer, limit) == (None, clock, 3)
        scope.on_end(settle)

    driver = build_driver(look.use(absent=[Words], limit=3), clock=clock)
    scope = Scope(RunId("r"), "plan", position=9, arrived_at_ms=5, attempt=2)
    ended = driver.try_drive_nowait(ITEM, scope)
    assert ended is not None
    assert ended.status == "done", ended.error
    assert ended.on_end == (settle,)


async def test_labels_and_contributions_carry_the_task_as_their_cause() -> None:
    ended = await drive(words.use(name="counted"))
    assert ended.labels == (AppliedLabel("short-text", 0.9, "two words", ("Hello",), "counted", "words", "7"),)
    contribution = Join("exact", ("k",), "duplicate", "same as {leader}")
    assert ended.contributions == (Contributed(contribution, "counted", "words", "7"),)


async def test_a_task_without_result_gives_no_labels() -> None:
    @task
    def skips(item: Item) -> Words | Skip:
        return Skip("nothing to count")

    ended = await drive(skips)
    assert (ended.labels, ended.contributions, ended.cells) == ((), (), ())


async def test_a_slow_inline_task_is_counted_each_time_and_warned_of_once() -> None:
    clock = JumpingClock()

    @task
    def slow(item: Item) -> None:
        clock.advance(6)

    @task(disable=[lambda situation: None])
    def slow_with_rule(item: Item) -> None:
        clock.advance(6)

    driver = build_driver(slow, slow_with_rule, clock=clock)
    with capture_logs() as logs:
        for number in range(2):
            driver.try_drive_nowait(ITEM, Scope(RunId(str(number)), "plan"))
    assert driver.slow_calls == {"slow": 2, "slow_with_rule": 2}
    assert [entry["task"] for entry in logs] == ["slow", "slow_with_rule"]


def test_closing_twice_is_safe() -> None:
    driver = build_driver(words)
    driver.close()
    driver.close()
