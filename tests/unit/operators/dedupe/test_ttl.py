"""The two-phase mark of `ttl_dedupe`: pending on entry, done after the commit, gone after a failure."""

from __future__ import annotations

from msgspec.structs import replace

from gristmill import Done, Fail, Item, Skip
from gristmill.adapters.memory.cache import MemoryCache
from gristmill.domain.errors import Unavailable
from gristmill.domain.ids import RunId
from gristmill.engine.driver import Scope
from gristmill.operators.dedupe import ttl_dedupe
from gristmill.testing import run_task
from tests.driving import ITEM, JumpingClock

KEY = "ttl\nplan\nfeed\n7"


class World:
    def __init__(self) -> None:
        self.clock = JumpingClock()
        self.marks = MemoryCache(self.clock)

    async def enter(self, run_id: str, item: Item = ITEM) -> tuple[object, Scope]:
        scope = Scope(RunId(run_id), "plan")
        resources = {"dedupe": self.marks}
        outcome = await run_task(ttl_dedupe, item, resources=resources, scope=scope, clock=self.clock)
        return outcome, scope


async def end(scope: Scope, *, succeeded: bool) -> None:
    for settle in scope.callbacks:
        await settle(succeeded)


async def test_a_pending_mark_keeps_other_runs_out_and_its_own_in() -> None:
    world = World()
    assert (await world.enter("one"))[0] == Done(None)
    assert (await world.enter("two"))[0] == Skip("seen within 60 s")
    assert (await world.enter("one"))[0] == Done(None)


async def test_a_done_mark_lives_until_its_time_from_the_first_entry_is_up() -> None:
    world = World()
    await world.enter("one")
    world.clock.advance(30_000)
    _, scope = await world.enter("one")
    await end(scope, succeeded=True)
    assert (await world.marks.get(KEY) or "").startswith("done:one:")
    world.clock.advance(29_999)
    assert isinstance((await world.enter("two"))[0], Skip)
    world.clock.advance(1)
    assert (await world.enter("two"))[0] == Done(None)


async def test_a_run_that_outlives_its_mark_sets_no_other() -> None:
    world = World()
    _, scope = await world.enter("one")
    world.clock.advance(60_000)
    await end(scope, succeeded=True)
    assert await world.marks.get(KEY) is None


async def test_a_failed_run_takes_its_own_mark_away_and_nobody_elses() -> None:
    world = World()
    _, first = await world.enter("one")
    world.clock.advance(60_000)
    _, second = await world.enter("two")
    await end(first, succeeded=False)
    assert await world.marks.get(KEY) is not None
    await end(second, succeeded=False)
    assert await world.marks.get(KEY) is None


async def test_a_committed_run_that_is_delivered_again_goes_through_and_its_mark_stays() -> None:
    world = World()
    _, scope = await world.enter("one")
    await end(scope, succeeded=True)
    outcome, again = await world.enter("one")
    assert outcome == Done(None)
    await end(again, succeeded=False)
    assert isinstance((await world.enter("two"))[0], Skip)


async def test_items_without_an_input_id_are_told_apart() -> None:
    world = World()
    await world.enter("one", replace(ITEM, input_id=""))
    other = replace(ITEM, input_id="", item_id=ITEM.item_id + 1)
    assert (await world.enter("two", other))[0] == Done(None)


async def test_without_its_cache_it_fails_and_its_plan_goes_on() -> None:
    class Down(MemoryCache):
        async def put_if_absent(self, key: str, value: str, *, ttl_ms: int) -> str | None:
            raise Unavailable("cache")

    world = World()
    world.marks = Down(world.clock)
    assert (await world.enter("one"))[0] == Fail("Unavailable: cache")
    assert ttl_dedupe.options.on_error == "fail_open"
