"""`run_task` runs one task alone, with all its attempts."""

from __future__ import annotations

from typing import Annotated

import msgspec
import pytest

from gristmill import LLM, Done, Fail, Item, Role, RunScope, Skip, cell, task
from gristmill.domain.errors import UsageError
from gristmill.ports.clock import Clock
from gristmill.testing import run_task
from tests.driving import ITEM, JumpingClock


@cell("language")
class Language(msgspec.Struct, frozen=True):
    code: str


@cell("topics")
class Topics(msgspec.Struct, frozen=True):
    names: tuple[str, ...]


class Judge:
    """A fake model."""

    def __init__(self, text: str) -> None:
        self.text = text


@task(attempts=2)
async def topics(
    item: Item, lang: Language, old: Topics | None, judge: Annotated[LLM, Role("safety")], *, prefix: str = ""
) -> Topics | Skip:
    if lang.code != "en":
        return Skip(f"no topics in {lang.code}")
    return Topics((*(old.names if old else ()), prefix + judge.text))  # type: ignore[attr-defined]


async def test_results_resources_and_configuration_go_where_the_signature_says() -> None:
    judge = {"safety": Judge("cats")}
    assert await run_task(topics, ITEM, Language("en"), resources=judge) == Done(Topics(("cats",)))
    assert await run_task(topics, ITEM, Language("fr"), resources=judge) == Skip("no topics in fr")
    outcome = await run_task(
        topics.use(prefix="a "), ITEM, Topics(("dogs",)), Language("en"), resources=judge, config={"prefix": "my "}
    )
    assert outcome == Done(Topics(("dogs", "my cats")))
    assert await run_task(topics.use(prefix="a "), ITEM, Language("en"), resources=judge) == Done(Topics(("a cats",)))


@pytest.mark.parametrize(
    ("results", "resources", "text"),
    [
        ((), {}, "parameter 'lang' of task 'topics' needs a result: 'Language'"),
        ((Language("en"),), {}, "parameter 'judge' of task 'topics' needs a LLM: 'safety'"),
        ((Language("en"), Language("fr")), {"safety": Judge("x")}, "task 'topics' asks for no further: 'Language'"),
    ],
)
async def test_what_is_missing_or_too_much_is_named(
    results: tuple[msgspec.Struct, ...], resources: dict[str, object], text: str
) -> None:
    with pytest.raises(UsageError, match=text):
        await run_task(topics, ITEM, *results, resources=resources)


async def test_attempts_are_real_and_their_waits_cost_no_time() -> None:
    calls: list[tuple[str, int]] = []

    @task(attempts=3, waits_ms=[60_000])
    def broken(item: Item, scope: RunScope, clock: Annotated[Clock, Role("time")]) -> None:
        calls.append((scope.plan, clock.now_ms()))
        assert clock.monotonic_us() == clock.now_ms() * 1_000
        raise ValueError("x")

    assert await run_task(broken, ITEM) == Fail("ValueError: x")
    assert calls == [("test", 0), ("test", 60_000), ("test", 120_000)]
    own = JumpingClock()
    await run_task(broken, ITEM, clock=own)
    assert own.waits_ms == [60_000, 60_000]
