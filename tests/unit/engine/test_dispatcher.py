"""What a dispatcher does when engines die, results never come, leases are lost or the log is down."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gristmill import Item, Plan, cell, task
from gristmill.domain.errors import ConfigError, Unavailable
from gristmill.domain.frame import EngineHello, Frame, FrameDone, RecordEnded, Stop
from gristmill.domain.log import Delivery, Diagnosis, Lease, NewRecord
from gristmill.engine.link import EngineLink, Said
from gristmill.engine.settings import DispatcherSettings
from gristmill.plans.plan import Generator
from tests.dispatching import World

FAILED = Diagnosis(error_class="ValueError", error_text="ValueError: x", plans=("echo",), task="echo")


@cell("echo")
class Echo(msgspec.Struct, frozen=True):
    text: str


@task
def echo(item: Item) -> Echo:
    return Echo(item.text)


ECHO = Plan("echo", tasks=[echo])


class FlakyLog:
    """A log that is down for the next calls of the verbs in `down`."""

    def __init__(self, log: Any) -> None:
        self._log = log
        self.down: dict[str, int] = {}
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Any:
        verb = getattr(self._log, name)
        if name not in ("accept", "release", "reject", "renew", "reclaim", "wait"):
            return verb

        async def call(*args: Any, **options: Any) -> Any:
            self.calls.append(name)
            if self.down.get(name):
                self.down[name] -= 1
                raise Unavailable("log is down")
            return await verb(*args, **options)

        return call


class Hand:
    """A dispatcher with the test in the engines' place."""

    def __init__(self, *generators: Generator, log: Any = None, **settings: Any) -> None:
        self.generators = generators or (Generator(type="G", topic="posts", plans=("echo",)),)
        plain = World([ECHO], self.generators, engine_count=0)
        self.log: Any = FlakyLog(plain.store.log)
        options = {"max_in_flight": 100} | settings
        self.world = World(
            [ECHO],
            self.generators,
            clock=plain.clock,
            store=plain.store,
            log=self.log,
            dispatcher=DispatcherSettings(**options),
            engine_count=0,
        )
        self.dispatcher, self.clock, self.link = self.world.dispatcher, self.world.clock, self.world.link

    async def join(self, owner: str = "e1", *, capacity: int = 100) -> EngineLink:
        side = self.link.engine_side()
        await side.connect(EngineHello(owner, capacity))
        return side

    async def receive(self, side: EngineLink) -> Frame:
        message = await side.receive()
        assert isinstance(message, Frame)
        return message

    async def report(self, side: EngineLink, *endings: RecordEnded) -> None:
        await side.send(FrameDone(1, endings))
        await self.clock.sleep_ms(5)

    async def claimable(self, topic: str = "posts") -> list[Delivery]:
        """Claim what another owner of the group could claim now."""
        found: list[Delivery] = await self.log.claim(topic, "G", owner="other", limit=100, lease_ms=1_000)
        return found


def leases_of(frame: Frame) -> list[Lease]:
    return [delivery.lease for delivery in frame.deliveries]


async def test_a_dead_engine_is_charged_only_for_what_it_was_working_on() -> None:
    hand = Hand()
    offsets = await hand.world.append("posts", "a", "b", "c")
    await hand.dispatcher.start()
    side = await hand.join("e1")
    await hand.receive(side)
    hand.world.marks["e1"] = frozenset({offsets[1]})
    await side.close()
    again = await hand.join("e2")
    frame = await hand.receive(again)
    assert {each.lease.offset: each.attempt for each in frame.deliveries} == dict(zip(offsets, (1, 2, 1), strict=True))
    await hand.dispatcher.stop()


async def test_an_engine_that_never_kept_marks_is_charged_for_all_that_it_had() -> None:
    hand = Hand()
    hand.dispatcher._read_marks = lambda owner: None
    await hand.world.append("posts", "a", "b")
    await hand.dispatcher.start()
    side = await hand.join("e1")
    await hand.receive(side)
    await side.close()
    frame = await hand.receive(await hand.join("e2"))
    assert [each.attempt for each in frame.deliveries] == [2, 2]
    await hand.dispatcher.stop()


async def test_P8_a_record_that_kills_its_engine_three_times_is_given_up_and_its_neighbour_is_not() -> None:
    hand = Hand()
    poison, _ = await hand.world.append("posts", "poison", "neighbour")
    await hand.dispatcher.start()
    for number in range(3):
        side = await hand.join(f"e{number}")
        frame = await hand.receive(side)
        assert poison in [lease.offset for lease in leases_of(frame)]
        hand.world.marks[f"e{number}"] = frozenset({poison})
        await side.close()
    side = await hand.join("last")
    frame = await hand.receive(side)
    assert [each.value for each in frame.deliveries] == [b"neighbour"]
    await hand.clock.sleep_ms(100)
    (letter,) = await hand.log.dead_letters()
    assert (letter.value, letter.diagnosis.error_class) == (b"poison", "crashed")
    assert hand.world.sample("dispatcher_task_crashed_total", origin="G") == 1
    await hand.dispatcher.stop()


async def test_a_record_without_a_result_long_after_its_time_out_counts_as_failed() -> None:
    hand = Hand(task_timeout_ms=1_000)
    await hand.world.append("posts", "a")
    await hand.dispatcher.start()
    side = await hand.join()
    frame = await hand.receive(side)
    await hand.clock.sleep_ms(60_000)
    assert hand.world.sample("dispatcher_task_lost_total") == 0
    await hand.clock.sleep_ms(17_000)
    assert hand.world.sample("dispatcher_task_lost_total") == 1
    assert hand.world.sample("dispatcher_result_failed_final_total", origin="G") == 1
    assert await hand.log.end("G.recovery") == 1
    await hand.report(side, RecordEnded(leases_of(frame)[0], accepted=True))
    assert hand.world.sample("dispatcher_result_unknown_total") == 1
    await hand.dispatcher.stop()


async def test_P5_leases_of_what_is_under_way_are_renewed_until_it_ends() -> None:
    hand = Hand(lease_ms=30_000)
    await hand.world.append("posts", "a")
    await hand.dispatcher.start()
    side = await hand.join()
    frame = await hand.receive(side)
    await hand.clock.sleep_ms(200_000)
    assert await hand.claimable() == []
    assert hand.log.calls.count("renew") >= 19
    await hand.report(side, RecordEnded(leases_of(frame)[0], accepted=True))
    assert hand.dispatcher.in_flight_count == 0
    await hand.dispatcher.stop()


async def test_renewal_goes_on_after_the_log_was_down() -> None:
    hand = Hand(lease_ms=30_000)
    await hand.world.append("posts", "a")
    await hand.dispatcher.start()
    await hand.receive(await hand.join())
    hand.log.down["renew"] = 5
    await hand.clock.sleep_ms(60_000)
    assert await hand.claimable() == []
    await hand.dispatcher.stop()


async def test_P4_a_lease_that_is_refused_twice_is_let_go() -> None:
    hand = Hand(lease_ms=30_000)
    await hand.world.append("posts", "a")
    await hand.dispatcher.start()
    side = await hand.join()
    (lease,) = leases_of(await hand.receive(side))
    await hand.world.store.log.accept([lease])
    await hand.clock.sleep_ms(10_001)
    assert hand.dispatcher.in_flight_count == 1, "its report may be on the way"
    await hand.clock.sleep_ms(10_000)
    assert hand.dispatcher.in_flight_count == 0
    assert hand.world.sample("dispatcher_lease_lost_total") == 1
    await hand.report(side, RecordEnded(lease, accepted=False, fenced=True))
    assert hand.world.sample("dispatcher_result_unknown_total") == 0
    await hand.dispatcher.stop()


async def test_fenced_results_end_a_record_here() -> None:
    hand = Hand()
    await hand.world.append("posts", "a")
    await hand.dispatcher.start()
    side = await hand.join()
    (lease,) = leases_of(await hand.receive(side))
    await hand.report(side, RecordEnded(lease, accepted=False, fenced=True))
    assert hand.dispatcher.in_flight_count == 0
    assert hand.world.sample("dispatcher_result_fenced_total") == 1
    await hand.dispatcher.stop()


async def test_what_an_engine_gives_back_comes_again_a_second_later_uncounted() -> None:
    hand = Hand()
    await hand.world.append("posts", "a")
    await hand.dispatcher.start()
    side = await hand.join()
    (lease,) = leases_of(await hand.receive(side))
    begun_at_ms = hand.clock.now_ms()
    await hand.report(side, RecordEnded(lease, accepted=False))
    (delivery,) = (await hand.receive(side)).deliveries
    assert delivery.attempt == 1
    assert hand.clock.now_ms() - begun_at_ms >= 1_000
    assert hand.world.sample("dispatcher_task_returned_total") == 1
    await hand.dispatcher.stop()


async def test_failures_of_one_frame_move_in_one_step_and_a_lost_lease_holds_back_none() -> None:
    hand = Hand()
    await hand.world.append("posts", *"abcd")
    await hand.dispatcher.start()
    side = await hand.join()
    leases = leases_of(await hand.receive(side))
    await hand.world.store.log.accept([leases[1]])
    await hand.report(side, *(RecordEnded(lease, accepted=False, diagnosis=FAILED) for lease in leases))
    assert await hand.log.end("G.recovery") == 3
    assert hand.dispatcher.in_flight_count == 0
    assert hand.log.calls.count("accept") == 5
    assert hand.world.sample("dispatcher_recovery_total", origin="G") == 3
    await hand.dispatcher.stop()


async def test_settling_waits_for_a_log_that_is_down_and_loses_nothing() -> None:
    hand = Hand()
    await hand.world.append("posts", "a", "b")
    await hand.dispatcher.start()
    side = await hand.join()
    first, second = leases_of(await hand.receive(side))
    hand.log.down |= {"accept": 2, "release": 1}
    await hand.report(side, RecordEnded(first, accepted=False, diagnosis=FAILED), RecordEnded(second, accepted=False))
    assert hand.dispatcher.in_flight_count == 2
    await hand.clock.sleep_ms(20_000)
    assert await hand.log.end("G.recovery") == 1
    assert [each.value for each in (await hand.receive(side)).deliveries] == [b"b"]
    await hand.dispatcher.stop()


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
