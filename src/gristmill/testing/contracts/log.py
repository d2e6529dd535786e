"""What every log must hold: appending, claiming, outcomes of records, dead letters, lag and broadcast reading."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from gristmill.domain.errors import UsageError
from gristmill.domain.log import Diagnosis, Lag, NewRecord
from gristmill.ports.log import RECORD_BYTES_MAX, RECORDS_PER_CALL_MAX, Log
from gristmill.testing.clock import FakeClock
from gristmill.testing.contracts.backend import LEASE_MS, Backend, Contract, claim, records, values

__all__ = ["LogContract"]

PATIENCE_S = 10
"""Real time that a waiting test allows; reached only when it fails."""

DIAGNOSIS = Diagnosis("ValueError", "no such thing", plans=("plan",), task="task", history=((1, "me", "no"),))


class LogContract(Contract):
    """See `ports.log.Log`."""

    async def test_offsets_grow_in_input_order(self, log: Log) -> None:
        _needs_order(log)
        offsets = await log.append("t", records("a", "b"))
        await log.append("other", records("c"))
        offsets += await log.append("t", records("d"))
        assert offsets == sorted(set(offsets))

    async def test_offsets_grow_over_all_topics(self, log: Log) -> None:
        if "total_order" not in log.capabilities:
            pytest.skip("the log orders each topic for itself")
        offsets = await log.append("t", records("a", "b")) + await log.append("other", records("c"))
        offsets += await log.append("t", records("d"))
        assert offsets == sorted(set(offsets))

    async def test_a_record_comes_back_as_it_went_in(self, log: Log, clock: FakeClock) -> None:
        record = NewRecord(b"\x00\xff", key="kéy", headers={"traceparent": "00-1", "é": '"'})
        [offset] = await log.append("t", [record])
        clock.advance(5)
        [delivery] = await claim(log)
        assert (delivery.value, delivery.key, delivery.headers) == (record.value, record.key, record.headers)
        assert (delivery.lease.offset, delivery.attempt) == (offset, 1)
        assert delivery.appended_at_ms == clock.now_ms() - 5

    async def test_an_empty_value_is_a_value(self, log: Log) -> None:
        await log.append("t", [NewRecord(b""), NewRecord(b"", key="k")])
        assert [delivery.value for delivery in await claim(log)] == [b"", b""]

    @pytest.mark.parametrize("count", [0, RECORDS_PER_CALL_MAX + 1])
    async def test_an_append_of_none_or_too_many_is_refused(self, log: Log, count: int) -> None:
        with pytest.raises(UsageError):
            await log.append("t", [NewRecord(b"x")] * count)
        assert await log.end("t") == 0

    async def test_a_record_above_the_limit_refuses_the_whole_append(self, log: Log) -> None:
        with pytest.raises(UsageError):
            await log.append("t", [NewRecord(b"x"), NewRecord(b"x" * (RECORD_BYTES_MAX + 1))])
        assert await log.topics() == []

    async def test_ten_thousand_records_in_one_call_all_arrive(self, log: Log) -> None:
        _needs_order(log)
        offsets = await log.append("t", [NewRecord(b"%d" % number) for number in range(10_000)])
        deliveries = await claim(log, limit=10_000)
        assert [delivery.lease.offset for delivery in deliveries] == offsets
        assert [delivery.value for delivery in deliveries] == [b"%d" % number for number in range(10_000)]

    async def test_every_group_sees_every_record_from_the_oldest(self, log: Log) -> None:
        _needs_order(log)
        await log.append("t", records("a", "b"))
        assert values(await claim(log, group="g1")) == ["a", "b"]
        await log.append("t", records("c"))
        assert values(await claim(log, group="g2")) == ["a", "b", "c"]
        assert values(await claim(log, group="g1")) == ["c"]

    async def test_a_claimed_record_is_not_handed_out_again(self, log: Log) -> None:
        _needs_order(log)
        await log.append("t", records("a", "b", "c"))
        assert values(await claim(log, limit=2)) == ["a", "b"]
        assert values(await claim(log, owner="you")) == ["c"]
        assert await claim(log) == []

    async def test_a_claim_of_an_unknown_topic_is_empty_and_makes_none(self, log: Log) -> None:
        assert await claim(log, topic="nowhere") == []
        assert await log.topics() == []

    async def test_an_accepted_record_never_comes_back(self, log: Log, clock: FakeClock) -> None:
        await log.append("t", records("a"))
        [delivery] = await claim(log)
        assert await log.accept([delivery.lease]) == [True]
        assert await log.accept([delivery.lease]) == [False]
        clock.advance(LEASE_MS * 2)
        assert await claim(log) == []

    async def test_of_one_lease_named_twice_one_is_accepted(self, log: Log) -> None:
        await log.append("t", records("a"))
        [delivery] = await claim(log)
        assert await log.accept([delivery.lease, delivery.lease]) == [True, False]

    async def test_a_released_record_comes_back_after_its_delay_with_one_more_attempt(
        self, log: Log, clock: FakeClock
    ) -> None:
        await log.append("t", records("a"))
        [first] = await claim(log)
        assert await log.release([first.lease], delay_ms=1_000) == [True]
        clock.advance(999)
        assert await claim(log) == []
        clock.advance(1)
        [second] = await claim(log)
        assert second.attempt == 2
        assert second.lease.epoch > first.lease.epoch

    async def test_an_uncounted_release_takes_the_attempt_back(self, log: Log) -> None:
        await log.append("t", records("a"))
        [first] = await claim(log)
        assert await log.release([first.lease], counted=False) == [True]
        assert await log.release([first.lease], counted=False) == [False]
        [second] = await claim(log)
        assert second.attempt == 1
        assert second.lease.epoch > first.lease.epoch

    async def test_redeliveries_and_fresh_records_take_turns_at_being_first(self, log: Log) -> None:
        _needs_order(log)
        await log.append("t", records(*"abcdef"))
        taken = await claim(log, limit=3)
        await log.release([delivery.lease for delivery in taken])
        order = [values(await claim(log, limit=1)) for _ in range(6)]
        assert order == [["a"], ["d"], ["b"], ["e"], ["c"], ["f"]]

    async def test_one_kind_fills_up_what_the_other_leaves(self, log: Log) -> None:
        _needs_order(log)
        await log.append("t", records(*"abc"))
        [first] = await claim(log, limit=1)
        await log.release([first.lease])
        assert values(await claim(log, limit=3)) == ["a", "b", "c"]

    async def test_a_record_with_a_due_time_waits_and_holds_nobody_up(self, log: Log, clock: FakeClock) -> None:
        _needs_order(log)
        due = NewRecord(b"later", due_at_ms=clock.now_ms() + 500)
        await log.append("t", [due, *records("a"), due, *records("b")])
        assert values(await claim(log, limit=2)) == ["a", "b"]
        clock.advance(499)
        assert await claim(log) == []
        clock.advance(1)
        later = await claim(log)
        assert values(later) == ["later", "later"]
        assert {delivery.attempt for delivery in later} == {1}

    async def test_an_accept_with_records_to_append_does_both_or_neither(self, log: Log) -> None:
        await log.append("t", records("a", "b"))
        first, second = [delivery.lease for delivery in await claim(log)]
        await log.accept([second])
        assert await log.accept([first, second], then=[("out", NewRecord(b"x"))]) == [False, False]
        assert await log.end("out") == 0
        assert await log.accept([first], then=[("out", NewRecord(b"x")), ("t", NewRecord(b"y"))]) == [True]
        assert values(await claim(log, topic="out")) == ["x"]
        assert values(await claim(log)) == ["y"]

    async def test_a_reject_writes_one_dead_letter_and_ends_the_record(self, log: Log, clock: FakeClock) -> None:
        await log.append("t", [NewRecord(b"bad", key="k", headers={"h": "1"})])
        [delivery] = await claim(log)
        assert await log.reject(delivery.lease, DIAGNOSIS) == "written"
        assert await log.reject(delivery.lease, DIAGNOSIS) == "already"
        [letter] = await log.dead_letters()
        assert (letter.topic, letter.group, letter.offset) == ("t", "g", delivery.lease.offset)
        assert (letter.value, letter.key, letter.headers) == (b"bad", "k", {"h": "1"})
        assert (letter.attempt, letter.diagnosis, letter.failed_at_ms) == (1, DIAGNOSIS, clock.now_ms())
        clock.advance(LEASE_MS * 2)
        assert await claim(log) == []

    async def test_a_reject_without_ownership_writes_nothing(self, log: Log) -> None:
        await log.append("t", records("a"))
        [delivery] = await claim(log)
        await log.accept([delivery.lease])
        assert await log.reject(delivery.lease, DIAGNOSIS) == "lost"
        assert await log.dead_letters() == []

    async def test_a_requeued_record_comes_back_to_its_group_alone_with_a_fresh_budget(self, log: Log) -> None:
        await log.append("t", records("bad"))
        await log.accept([(await claim(log, group="other"))[0].lease])
        [first] = await claim(log)
        await log.release([first.lease])
        [second] = await claim(log)
        await log.reject(second.lease, DIAGNOSIS)
        [letter] = await log.dead_letters()
        assert await log.requeue(letter.dead_letter_id)
        assert not await log.requeue(letter.dead_letter_id)
        assert await log.dead_letters() == []
        assert await claim(log, group="other") == []
        [again] = await claim(log)
        assert (again.value, again.attempt) == (b"bad", 1)
        assert again.lease.epoch > second.lease.epoch
        assert await log.reject(again.lease, DIAGNOSIS) == "written"
        assert [letter.generation for letter in await log.dead_letters()] == [1]

    async def test_requeue_of_an_unknown_dead_letter_says_so(self, log: Log) -> None:
        assert not await log.requeue(7)

    async def test_dead_letters_are_listed_by_topic_and_group(self, log: Log) -> None:
        for topic, group in (("t1", "g1"), ("t1", "g2"), ("t2", "g1")):
            await log.append(topic, records(topic))
            for delivery in await claim(log, topic=topic, group=group):
                await log.reject(delivery.lease, DIAGNOSIS)
        assert [letter.topic for letter in await log.dead_letters(group="g1")] == ["t1", "t2"]
        assert {letter.group for letter in await log.dead_letters(topic="t1")} == {"g1", "g2"}
        [first] = await log.dead_letters(limit=1)
        assert first.dead_letter_id not in [
            one.dead_letter_id for one in await log.dead_letters(after=first.dead_letter_id)
        ]

    async def test_dead_letters_are_listed_without_their_values(self, log: Log) -> None:
        await log.append("t", records("long"))
        [delivery] = await claim(log)
        await log.reject(delivery.lease, DIAGNOSIS)
        [whole] = await log.dead_letters()
        [outline] = await log.dead_letters(has_values=False)
        assert (whole.value, outline) == (b"long", msgspec.structs.replace(whole, value=b""))

    async def test_a_dropped_dead_letter_never_comes_back(self, log: Log) -> None:
        await log.append("t", records("a"))
        [delivery] = await claim(log)
        await log.reject(delivery.lease, DIAGNOSIS)
        [letter] = await log.dead_letters()
        assert await log.drop(letter.dead_letter_id)
        assert not await log.drop(letter.dead_letter_id)
        assert not await log.requeue(letter.dead_letter_id)
        assert await log.dead_letters() == []
        assert (await log.lag("t", "g")).dead == 0
        assert await log.trim("t", upto=delivery.lease.offset) == 1

    async def test_lag_tells_apart_where_records_are(self, log: Log, clock: FakeClock) -> None:
        _needs_order(log)
        await log.append("t", [NewRecord(b"later", due_at_ms=clock.now_ms() + 90_000), *records(*"abcde")])
        clock.advance(70)
        before = await log.lag("t", "g")
        assert (before.undelivered + before.waiting, before.in_flight, before.oldest_age_ms) == (6, 0, 70)
        if "claimer_settles" not in log.capabilities:
            assert (before.undelivered, before.waiting) == (5, 1)
        taken = await claim(log, limit=4)
        await log.reject(taken[0].lease, DIAGNOSIS)
        await log.release([taken[1].lease], delay_ms=60_000)
        assert await log.lag("t", "g") == Lag(undelivered=1, in_flight=2, waiting=2, oldest_age_ms=70, dead=1)
        clock.advance(LEASE_MS)
        assert (await log.lag("t", "g")).in_flight == 0
        assert await log.lag("nowhere", "g") == Lag(undelivered=0, in_flight=0, waiting=0, oldest_age_ms=0, dead=0)

    async def test_lag_is_nothing_once_all_is_accepted(self, log: Log, clock: FakeClock) -> None:
        await log.append("t", records("a", "b"))
        await log.accept([delivery.lease for delivery in await claim(log)])
        clock.advance(1_000)
        assert await log.lag("t", "g") == Lag(undelivered=0, in_flight=0, waiting=0, oldest_age_ms=0, dead=0)

    async def test_end_counts_records_and_topics_are_sorted(self, log: Log) -> None:
        await log.append("b", records("1", "2"))
        await log.append("a", records("3"))
        assert (await log.end("b"), await log.end("a"), await log.end("c")) == (2, 1, 0)
        assert await log.topics() == ["a", "b"]

    async def test_broadcast_reading_sees_all_without_leases(self, log: Log) -> None:
        _needs_order(log)
        offsets = await log.append("t", [NewRecord(b"%d" % number, key="k") for number in range(1_200)])
        await log.append("other", records("x"))
        await log.accept([delivery.lease for delivery in await claim(log, limit=100)])
        read = [record async for batch in log.read_all("t") for record in batch]
        assert [record.offset for record in read] == offsets
        assert {record.key for record in read} == {"k"}
        tail = [record.offset async for batch in log.read_all("t", after=offsets[-3]) for record in batch]
        assert tail == offsets[-2:]

    async def test_broadcast_reading_may_go_on_past_the_end(self, log: Log) -> None:
        await log.append("t", records("a"))
        reading = log.read_all("t", until_end=False)
        assert [record.value for record in await anext(reading)] == [b"a"]
        waiting = asyncio.ensure_future(anext(reading))
        await log.append("t", records("b"))
        async with asyncio.timeout(PATIENCE_S):
            assert [record.value for record in await waiting] == [b"b"]

    async def test_trim_deletes_the_front_that_every_group_is_done_with(self, log: Log) -> None:
        _needs_order(log)
        offsets = await log.append("t", records(*"abcde"))
        assert await log.trim("t", upto=offsets[-1]) == 0
        a, b, c = await claim(log, limit=3)
        await log.accept([a.lease])
        assert await log.trim("t", upto=offsets[-1]) == 1
        await log.accept([b.lease, c.lease])
        assert await log.trim("t", upto=offsets[1]) == 1
        assert await log.trim("t", upto=offsets[-1]) == 1
        assert (await log.trimmed("t"), await log.end("t"), await log.trimmed("unknown")) == (3, 5, 0)
        assert [record.offset async for batch in log.read_all("t") for record in batch] == offsets[3:]

    async def test_trim_spares_what_a_group_or_a_dead_letter_needs(self, log: Log) -> None:
        if "front_trim" in log.capabilities:
            pytest.skip("the log trims whole fronts, and dead letters keep copies of their own")
        offsets = await log.append("t", records(*"abcde"))
        assert await log.trim("t", upto=offsets[-1]) == 0
        a, b, c = await claim(log, limit=3)
        await log.accept([a.lease])
        await log.reject(b.lease, DIAGNOSIS)
        assert await log.trim("t", upto=offsets[-1]) == 1
        await log.accept([c.lease])
        assert await log.trim("t", upto=offsets[1]) == 0
        assert await log.trim("t", upto=offsets[-1]) == 1
        assert (await log.trimmed("t"), await log.end("t"), await log.trimmed("unknown")) == (2, len(offsets), 0)
        left = [record.offset async for batch in log.read_all("t") for record in batch]
        assert left == [offsets[1], offsets[3], offsets[4]]
        assert await log.end("t") == 5
        assert (await log.lag("t", "new")).undelivered == 3
        assert await log.append("t", records("f")) > offsets[-1:]

    async def test_wait_ends_when_a_record_is_appended(self, log: Log) -> None:
        await claim(log)
        waiting = asyncio.ensure_future(log.wait(["other", "t"], timeout_ms=60_000))
        await log.append("t", records("a"))
        async with asyncio.timeout(PATIENCE_S):
            await waiting

    async def test_wait_ends_when_a_record_is_released(self, log: Log) -> None:
        await log.append("t", records("a"))
        [delivery] = await claim(log)
        waiting = asyncio.ensure_future(log.wait(["t"], timeout_ms=60_000))
        await log.release([delivery.lease])
        async with asyncio.timeout(PATIENCE_S):
            await waiting

    async def test_an_append_between_claim_and_wait_is_not_missed(self, log: Log) -> None:
        assert await claim(log) == []
        await log.append("t", records("a"))
        async with asyncio.timeout(PATIENCE_S):
            await log.wait(["t"], timeout_ms=60_000)

    async def test_wait_ends_after_its_timeout(self, log: Log, clock: FakeClock) -> None:
        waiting = asyncio.ensure_future(log.wait(["t"], timeout_ms=200))
        await clock.somebody_waits()
        clock.advance(200)
        async with asyncio.timeout(PATIENCE_S):
            await waiting

    async def test_what_was_written_outlives_the_process(self, backend: Backend) -> None:
        if "durable" not in backend.log.capabilities or backend.reopen is None:
            pytest.skip("the log does not claim to be durable")
        _needs_order(backend.log)
        await backend.log.append("t", records("a", "b", "c"))
        a, b = await claim(backend.log, limit=2)
        await backend.log.accept([a.lease])
        await backend.log.release([b.lease])
        again = await backend.reopen()
        assert values(await claim(again.log)) == ["b", "c"]
        assert await again.log.end("t") == 3


def _needs_order(log: Log) -> None:
    if "partitioned" in log.capabilities:
        pytest.skip("the log orders each partition for itself")
