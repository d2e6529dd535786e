"""What people order about generators: kept, taken up while a dispatcher runs, and still there after a restart."""

from __future__ import annotations

import msgspec
import pytest

from gristmill.adapters.memory import MemoryStore
from gristmill.domain.steering import Orders
from gristmill.engine.dispatch.orders import KIND, LiveOrders, give_orders, read_history
from gristmill.plans.plan import Generator
from gristmill.ports.definitions import Definition
from gristmill.testing.clock import FakeClock
from tests.handing import Hand, leases_of

PAUSED = Orders(is_paused=True, reason="the judge is down")


async def test_a_paused_generator_is_not_claimed_for_and_goes_on_when_it_is_resumed() -> None:
    hand = Hand(
        Generator(type="G", topic="posts", plans=("echo",)),
        Generator(type="H", topic="other", plans=("echo",)),
        max_in_flight=10,
    )
    hand.world.orders["G"] = PAUSED
    await hand.world.append("posts", *"abc")
    await hand.world.append("other", *"de")
    await hand.dispatcher.start()
    side = await hand.join()
    assert {lease.group for lease in leases_of(await hand.receive(side))} == {"H"}
    assert (await hand.log.lag("posts", "G")).undelivered == 3
    hand.world.orders.clear()
    hand.dispatcher.note_orders()
    assert {lease.group for lease in leases_of(await hand.receive(side))} == {"G"}
    await hand.dispatcher.stop()


async def test_a_weight_that_was_ordered_replaces_the_one_that_was_declared() -> None:
    hand = Hand(
        Generator(type="G", topic="posts", plans=("echo",), weight=1.0),
        Generator(type="H", topic="other", plans=("echo",), weight=1.0),
        max_in_flight=100,
    )
    hand.world.orders["G"] = Orders(weight=1e9)
    await hand.world.append("posts", *("x" * 100))
    await hand.world.append("other", *("y" * 100))
    await hand.dispatcher.start()
    side = await hand.join(capacity=100)
    leases = leases_of(await hand.receive(side))
    while len(leases) < 100:
        leases += leases_of(await hand.receive(side))
    assert {lease.group for lease in leases} == {"G"}
    await hand.dispatcher.stop()


async def test_a_paused_generator_with_records_does_not_keep_the_dispatcher_busy() -> None:
    hand = Hand()
    hand.world.orders["G"] = PAUSED
    await hand.world.append("posts", *"abc")
    await hand.dispatcher.start()
    await hand.join()
    await hand.clock.sleep_ms(30_000)
    assert hand.log.calls.count("wait") == 0, "nothing is waited for that is there already"
    await hand.dispatcher.stop()


async def test_orders_are_taken_up_and_outlive_the_process() -> None:
    clock = FakeClock()
    store = MemoryStore(clock)
    running = LiveOrders(store.definitions, clock)
    assert not await running.refresh()
    await give_orders(store.definitions, "G", PAUSED, actor="ana", clock=clock)
    assert await running.refresh()
    assert (running.of("G"), running.of("H")) == (PAUSED, Orders())
    restarted = LiveOrders(store.definitions, clock)
    await restarted.refresh()
    assert restarted.of("G") == PAUSED


async def test_the_history_tells_who_ordered_what_and_the_same_again_is_nothing_new() -> None:
    clock = FakeClock()
    store = MemoryStore(clock)
    for orders, actor in ((PAUSED, "ana"), (PAUSED, "ben"), (Orders(), "cem")):
        await give_orders(store.definitions, "G", orders, actor=actor, clock=clock)
    history = await read_history(store.definitions, "G")
    assert [one.actor for one in history] == ["ana", "cem"]


@pytest.mark.parametrize("body", ["", "[]", '{"is_paused": false, "new_word": 1}'])
async def test_orders_that_cannot_be_read_hold_the_generator_up(body: str) -> None:
    clock = FakeClock()
    store = MemoryStore(clock)
    await give_orders(store.definitions, "G", Orders(), actor="ana", clock=clock)
    [stored] = await store.definitions.latest(KIND)
    later: Definition = msgspec.structs.replace(stored, body=body, hash="other")
    await store.definitions.publish(later)
    live = LiveOrders(store.definitions, clock)
    await live.refresh()
    assert live.of("G").is_paused
