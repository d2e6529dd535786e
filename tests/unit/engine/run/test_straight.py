"""The short way through a plan ends exactly as the long one would, wherever it has to be left."""

from __future__ import annotations

from typing import Any, TypeVar, cast

import msgspec
import pytest
from structlog.testing import capture_logs

from gristmill import End, Fail, Item, Retry, Skip, cell, task
from gristmill.domain.ids import RunId
from gristmill.engine.driver import Driver, Ended, Scope
from tests.driving import ITEM, JumpingClock, build_driver


@cell("a")
class A(msgspec.Struct, frozen=True):
    number: int


@cell("b")
class B(msgspec.Struct, frozen=True):
    number: int


@cell("c")
class C(msgspec.Struct, frozen=True):
    number: int


Answers = dict[str, Any]


T = TypeVar("T")


def answer(answers: Answers, name: str, usual: T) -> T:
    value = answers.get(name, usual)
    if isinstance(value, BaseException):
        raise value
    return cast(T, value)


def build(answers: Answers, clock: JumpingClock | None = None) -> Driver:
    """Two branches that join, then a task without a result."""

    @task(attempts=2)
    def first(item: Item) -> A | Skip | End | Retry | Fail:
        return answer(answers, "first", A(1))

    @task(on_error="skip")
    def left(a: A) -> B | Skip | End | Retry | Fail:
        return answer(answers, "left", B(2))

    @task
    def right(a: A) -> C | Skip | End | Retry | Fail:
        return answer(answers, "right", C(3))

    @task
    def last(b: B | None, c: C | None) -> Skip | End | Retry | Fail | None:
        return answer(answers, "last", None)

    return build_driver(first, left, right, last, clock=clock)


async def drive(driver: Driver) -> Ended:
    scope = Scope(RunId("r"), "plan")
    ended = driver.try_drive_nowait(ITEM, scope)
    return ended if ended is not None else await driver.drive(ITEM, scope)


ODD = [Skip("no"), End("rejected", "no"), Retry(delay_ms=5), Fail("no"), ValueError("no"), "nonsense"]


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: type(odd).__name__)
@pytest.mark.parametrize("name", ["first", "left", "right", "last"])
async def test_a_run_ends_as_it_would_on_the_long_way(name: str, odd: Any) -> None:
    short, long = build({name: odd}), build({name: odd})
    long._straight = None
    assert await drive(short) == await drive(long)


async def test_a_run_in_which_all_goes_well_ends_as_it_would_on_the_long_way() -> None:
    short, long = build({}), build({})
    long._straight = None
    ended = await drive(short)
    assert ended == await drive(long)
    assert [report.task for report in ended.tasks] == ["first", "left", "right", "last"]
    assert [one.value for one in ended.cells] == [A(1), B(2), C(3)]


async def test_reports_stand_in_the_order_of_the_graph_whatever_the_order_of_the_calls() -> None:
    def build_one() -> Driver:
        clock, called = JumpingClock(), []

        @task
        def root(item: Item) -> A:
            called.append("root")
            clock.advance(len(called))
            return A(1)

        @task
        def leaf(a: A) -> B:
            called.append("leaf")
            clock.advance(len(called))
            return B(2)

        @task
        def other(item: Item) -> C:
            called.append("other")
            clock.advance(len(called))
            return C(3)

        return build_driver(root, leaf, other, clock=clock)

    short, long = build_one(), build_one()
    long._straight = None
    ended = await drive(short)
    assert ended == await drive(long)
    times = {report.task: (report.started_after_us, report.duration_us) for report in ended.tasks}
    assert times == {"root": (0, 1_000), "other": (1_000, 2_000), "leaf": (3_000, 3_000)}


class WaitingClock(JumpingClock):
    """A thread that never works, whatever the wall clock says."""

    def thread_us(self) -> int:
        return 0


@pytest.mark.parametrize("is_blamed", [True, False])
@pytest.mark.parametrize("way", ["short", "long", "aside"])
async def test_a_call_that_only_waited_for_its_turn_is_not_blamed(way: str, is_blamed: bool) -> None:
    clock = JumpingClock() if is_blamed else WaitingClock()

    @task(disable=[lambda situation: None] if way == "aside" else [])
    def slow(item: Item) -> A | Skip:
        clock.advance(6)
        return A(1)

    driver = build_driver(slow, clock=clock)
    if way == "long":
        driver._straight = None
    with capture_logs() as logs:
        await drive(driver)
    assert [entry["task"] for entry in logs] == (["slow"] if is_blamed else [])


@pytest.mark.parametrize("odd", [Skip("no"), ValueError("no")], ids=lambda odd: type(odd).__name__)
async def test_a_slow_call_that_ends_the_short_way_is_blamed(odd: Any) -> None:
    clock = JumpingClock()

    @task(attempts=1)
    def slow(item: Item) -> A | Skip:
        clock.advance(6)
        return answer({"slow": odd}, "slow", A(1))

    driver = build_driver(slow, clock=clock)
    await drive(driver)
    assert driver.slow_calls == {"slow": 1}
