"""How a dispatcher fills engines with frames, and how it starts and stops."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gristmill.domain.errors import ConfigError, InvariantBroken, Unavailable
from gristmill.domain.frame import EngineHello, Stop
from gristmill.domain.log import Delivery, NewRecord
from gristmill.engine.link import Said
from gristmill.plans.plan import Generator
from tests.dispatching import World
from tests.handing import ECHO, Hand, leases_of


async def test_records_go_to_the_engine_with_the_most_room_and_are_leased_in_its_name() -> None:
    hand = Hand(max_in_flight=9)
    await hand.world.append("posts", *"abcdefghi")
    small, large = await hand.join("small", capacity=3), await hand.join("large", capacity=6)
    await hand.dispatcher.start()
    for side, owner, count in ((large, "large", 6), (small, "small", 3)):
        leases = leases_of(await hand.receive(side))
        assert len(leases) == count
        assert {lease.owner for lease in leases} == {owner}
    await hand.dispatcher.stop()


async def test_frames_are_cut_by_count_and_by_bytes() -> None:
    hand = Hand(frame_records_max=3, frame_bytes_max=100)
    await hand.log.append("posts", [NewRecord(b"x" * size) for size in (10, 10, 10, 10, 90, 200, 5)])
    await hand.dispatcher.start()
    side = await hand.join()
    sizes = [[len(each.value) for each in (await hand.receive(side)).deliveries] for _ in range(4)]
    assert sizes == [[10, 10, 10], [10, 90], [200], [5]]
    await hand.dispatcher.stop()


async def test_a_generator_takes_no_more_slots_than_its_own_share() -> None:
    hand = Hand(
        Generator(type="G", topic="posts", plans=("echo",), max_in_flight=2),
        Generator(type="H", topic="other", plans=("echo",)),
        max_in_flight=10,
    )
    await hand.world.append("posts", *"abcdef")
    await hand.world.append("other", *"abc")
    await hand.dispatcher.start()
    side = await hand.join()
    counts: dict[str, int] = {}
    for _ in range(2):
        frame = await hand.receive(side)
        counts[frame.generator] = len(frame.deliveries)
    assert counts == {"G": 2, "H": 3}
    await hand.dispatcher.stop()


async def test_a_stop_gives_back_what_is_left_after_its_grace() -> None:
    hand = Hand()
    await hand.world.append("posts", "a")
    await hand.dispatcher.start()
    side = await hand.join()
    await hand.receive(side)
    await hand.dispatcher.stop(grace_ms=1_000)
    assert await side.receive() == Stop()
    (delivery,) = await hand.claimable()
    assert delivery.attempt == 1


async def test_a_stop_leaves_leases_to_run_out_when_the_log_is_down() -> None:
    hand = Hand()
    await hand.world.append("posts", "a")
    await hand.dispatcher.start()
    await hand.receive(await hand.join())
    hand.log.down["release"] = 1
    await hand.dispatcher.stop()
    assert await hand.claimable() == []


async def test_what_is_claimed_while_draining_begins_is_given_back() -> None:
    hand = Hand()
    await hand.world.append("posts", "a")
    claim = hand.world.store.log.claim

    async def claim_while_closing(*args: Any, **options: Any) -> list[Delivery]:
        hand.dispatcher._filler.close()
        return await claim(*args, **options)

    hand.world.store.log.claim = claim_while_closing  # type: ignore[method-assign]
    await hand.dispatcher.start()
    await hand.join()
    await hand.dispatcher.drain()
    hand.world.store.log.claim = claim  # type: ignore[method-assign]
    (delivery,) = await hand.claimable()
    assert delivery.attempt == 1
    await hand.dispatcher.stop()


async def test_dead_owners_are_looked_for_even_after_the_log_was_down() -> None:
    hand = Hand()
    await hand.world.append("posts", "a")
    await hand.log.claim("posts", "G", owner="dead", limit=1, lease_ms=10**9)
    hand.log.down["reclaim"] = 1
    await hand.dispatcher.start()
    side = await hand.join()
    hand.world.store.mark_dead("dead")
    assert len((await hand.receive(side)).deliveries) == 1
    await hand.dispatcher.stop()


async def test_a_log_that_cannot_be_waited_on_is_looked_at_now_and_then() -> None:
    hand = Hand()
    hand.log.down["wait"] = 10**9
    await hand.dispatcher.start()
    side = await hand.join()
    await hand.clock.sleep_ms(2_500)
    await hand.world.append("posts", "a")
    assert len((await hand.receive(side)).deliveries) == 1
    await hand.dispatcher.stop()


async def test_an_odd_message_is_a_warning_and_no_end() -> None:
    hand = Hand()
    await hand.dispatcher.start()
    side = await hand.join()
    hand.link._events.put_nowait(Said("e1", EngineHello("e1", 1)))
    await hand.world.append("posts", "a")
    assert len((await hand.receive(side)).deliveries) == 1
    await hand.dispatcher.stop()


async def test_join_tells_what_ended_a_dispatcher_and_drain_does_not_hang_on_it() -> None:
    hand = Hand()
    await hand.dispatcher.join()
    await hand.world.append("posts", "a")
    await hand.dispatcher.start()
    await hand.receive(await hand.join())

    async def broken() -> Any:
        raise OSError("link is broken")

    hand.link.receive = broken  # type: ignore[method-assign]
    await hand.join("e2")
    await hand.dispatcher.drain()
    with pytest.raises(ExceptionGroup) as caught:
        await hand.dispatcher.join()
    assert caught.group_contains(OSError, match="link is broken")
    await hand.dispatcher.stop()


async def test_starting_and_stopping_twice_is_harmless() -> None:
    hand = Hand()
    await hand.dispatcher.stop()
    await hand.dispatcher.drain()
    hand = Hand()
    await hand.dispatcher.start()
    await hand.dispatcher.start()
    assert hand.dispatcher.generators_up == {"G": True}
    await hand.dispatcher.drain()
    await hand.dispatcher.stop()
    await hand.dispatcher.stop()
    await hand.dispatcher.join()


def test_two_generators_of_one_type_or_a_rate_of_nothing_refuse_to_start() -> None:
    generator = Generator(type="G", topic="posts", plans=("echo",))
    with pytest.raises(ConfigError, match="given twice"):
        World([ECHO], [generator, generator])
    with pytest.raises(ConfigError, match="max_qps"):
        World([ECHO], [msgspec.structs.replace(generator, max_qps=0.0)])


async def test_a_flood_of_retries_leaves_room_for_fresh_records() -> None:
    hand = Hand(max_in_flight=10)
    await hand.log.append("G.recovery", [NewRecord(b"retry")] * 100)
    await hand.log.append("posts", [NewRecord(b"fresh")] * 100)
    await hand.dispatcher.start()
    side = await hand.join()
    frame = await hand.receive(side)
    values = [delivery.value for delivery in frame.deliveries]
    assert (values.count(b"retry"), values.count(b"fresh")) == (5, 5)
    await hand.dispatcher.stop()


async def test_a_broken_log_ends_the_dispatcher() -> None:
    hand = Hand()

    async def broken(*args: Any, **options: Any) -> list[Delivery]:
        raise InvariantBroken("store", value="no such column: x")

    hand.world.store.log.claim = broken  # type: ignore[method-assign]
    await hand.dispatcher.start()
    await hand.join()
    with pytest.raises(ExceptionGroup) as caught:
        await hand.dispatcher.join()
    assert caught.group_contains(InvariantBroken, match="no such column")
    await hand.dispatcher.stop()


async def test_what_was_claimed_for_an_engine_that_left_meanwhile_is_given_back() -> None:
    hand = Hand()
    await hand.world.append("posts", "a")
    claim = hand.world.store.log.claim

    async def claim_while_leaving(*args: Any, **options: Any) -> list[Delivery]:
        hand.dispatcher._filler.remove_engine("e1")
        return await claim(*args, **options)

    hand.world.store.log.claim = claim_while_leaving  # type: ignore[method-assign]
    await hand.dispatcher.start()
    await hand.join("e1")
    await hand.clock.sleep_ms(100)
    hand.world.store.log.claim = claim  # type: ignore[method-assign]
    (delivery,) = (await hand.receive(await hand.join("e2"))).deliveries
    assert delivery.attempt == 1
    await hand.dispatcher.stop()


async def test_what_cannot_be_sent_is_given_back_once_the_engine_is_known_to_be_gone() -> None:
    hand = Hand()
    await hand.world.append("posts", "a")
    await hand.dispatcher.start()
    send = hand.link.send

    async def refuse(engine: str, message: Any) -> None:
        raise Unavailable("engine is not connected", value=engine)

    hand.link.send = refuse  # type: ignore[method-assign]
    side = await hand.join("e1")
    await hand.clock.sleep_ms(100)
    assert hand.dispatcher.in_flight_count == 1
    hand.link.send = send  # type: ignore[method-assign]
    await side.close()
    assert len((await hand.receive(await hand.join("e2"))).deliveries) == 1
    await hand.dispatcher.stop()
