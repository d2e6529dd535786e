"""What a dispatcher does when engines die, results never come, leases are lost or the log is down."""

from __future__ import annotations

from gristmill.domain.frame import RecordEnded
from gristmill.domain.log import Diagnosis
from tests.handing import Hand, leases_of

FAILED = Diagnosis(error_class="ValueError", error_text="ValueError: x", plans=("echo",), task="echo")


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
