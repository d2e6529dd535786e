"""What every log must hold about moving a group over its topic, and about telling how far that is."""

from __future__ import annotations

import pytest

from gristmill.domain.log import Diagnosis
from gristmill.domain.steering import SeekTo, Sought
from gristmill.ports.log import Log
from gristmill.testing.clock import FakeClock
from gristmill.testing.contracts.backend import LEASE_MS, Contract, claim, records, values

__all__ = ["SeekingContract"]


class SeekingContract(Contract):
    """See `ports.log.Log.seek` and `partitions`."""

    @pytest.fixture(autouse=True)
    def _needs_order(self, log: Log) -> None:
        if "partitioned" in log.capabilities:
            pytest.skip("the log orders each partition for itself")
        if "claimer_settles" in log.capabilities:
            pytest.skip("only a group that nobody claims for can be moved")

    async def test_a_preview_counts_and_changes_nothing(self, log: Log) -> None:
        await log.append("t", records(*"abcd"))
        await _finish(log, limit=2)
        preview = await log.seek("t", "g", SeekTo.earliest(), is_preview=True)
        assert preview == Sought(again=2, skipped=0, in_flight=0)
        assert await log.seek("t", "g", SeekTo.now(), is_preview=True) == Sought(again=0, skipped=2, in_flight=0)
        assert values(await claim(log)) == ["c", "d"]

    async def test_records_that_were_done_with_come_again(self, log: Log) -> None:
        offsets = await log.append("t", records(*"abcd"))
        await _finish(log, limit=3)
        assert await log.seek("t", "g", SeekTo(offset=offsets[1])) == Sought(again=2, skipped=0, in_flight=0)
        again = await claim(log)
        assert (values(again), [delivery.attempt for delivery in again]) == (["b", "c", "d"], [1, 1, 1])
        assert await log.accept([delivery.lease for delivery in again]) == [True] * 3
        lag = await log.lag("t", "g")
        assert (lag.undelivered, lag.in_flight, lag.waiting) == (0, 0, 0)

    async def test_P4_a_holder_from_before_the_seek_changes_nothing(self, log: Log) -> None:
        await log.append("t", records("a"))
        [first] = await claim(log)
        await log.accept([first.lease])
        await log.seek("t", "g", SeekTo.earliest())
        [second] = await claim(log)
        assert second.lease.epoch > first.lease.epoch
        assert await log.accept([first.lease]) == [False]
        assert await log.accept([second.lease]) == [True]

    async def test_records_are_skipped_but_for_those_under_a_lease(self, log: Log) -> None:
        offsets = await log.append("t", records(*"abcde"))
        a, b = await claim(log, limit=2)
        await log.release([b.lease])
        assert await log.seek("t", "g", SeekTo(offset=offsets[3])) == Sought(again=0, skipped=2, in_flight=1)
        assert await log.accept([a.lease]) == [True]
        assert (await log.lag("t", "g")).undelivered == 2
        assert values(await claim(log)) == ["d", "e"]

    async def test_a_group_can_begin_behind_all_that_there_is(self, log: Log) -> None:
        await log.append("t", records("a", "b"))
        await log.seek("t", "g", SeekTo.now())
        assert (await log.lag("t", "g")).undelivered == 0
        await log.append("t", records("c"))
        assert (await log.lag("t", "g")).undelivered == 1
        assert values(await claim(log)) == ["c"]

    async def test_a_time_is_the_first_record_appended_then_or_later(self, log: Log, clock: FakeClock) -> None:
        for text in "abc":
            await log.append("t", records(text))
            clock.advance(1_000)
        await _finish(log, limit=3)
        at_ms = clock.now_ms() - 2_500
        assert await log.seek("t", "g", SeekTo(at_ms=at_ms)) == Sought(again=2, skipped=0, in_flight=0)
        assert values(await claim(log)) == ["b", "c"]

    async def test_a_seek_that_is_repeated_brings_nothing_twice(self, log: Log) -> None:
        await log.append("t", records("a", "b"))
        await _finish(log, limit=2)
        await log.seek("t", "g", SeekTo.earliest())
        assert await log.seek("t", "g", SeekTo.earliest()) == Sought(again=0, skipped=0, in_flight=0)
        assert values(await claim(log)) == ["a", "b"]

    async def test_records_of_dead_letters_stay_at_the_desk(self, log: Log) -> None:
        await log.append("t", records("a"))
        [delivery] = await claim(log)
        await log.reject(delivery.lease, Diagnosis("E", "text"))
        assert await log.seek("t", "g", SeekTo.earliest()) == Sought(again=0, skipped=0, in_flight=0)
        assert await claim(log) == []

    async def test_a_record_that_died_before_can_die_again_after_a_seek(self, log: Log) -> None:
        await log.append("t", records("a"))
        [first] = await claim(log)
        await log.reject(first.lease, Diagnosis("E", "first"))
        await log.drop((await log.dead_letters())[0].dead_letter_id)
        await log.seek("t", "g", SeekTo.earliest())
        [second] = await claim(log)
        assert await log.reject(second.lease, Diagnosis("E", "second")) == "written"
        assert [letter.diagnosis.error_text for letter in await log.dead_letters()] == ["second"]

    async def test_other_groups_stay_where_they_are(self, log: Log) -> None:
        await log.append("t", records("a", "b"))
        await _finish(log, limit=2)
        [held] = await claim(log, group="other", limit=1)
        await log.seek("t", "g", SeekTo.earliest())
        assert await log.renew([held.lease], lease_ms=LEASE_MS) == [True]
        assert (await log.lag("t", "other")).undelivered == 1

    async def test_partitions_tell_where_a_group_stands(self, log: Log) -> None:
        assert await log.partitions("t", "g") == []
        offsets = await log.append("t", records(*"abc"))
        [new] = await log.partitions("t", "g")
        assert (new.undelivered, new.end) == (3, offsets[-1])
        await claim(log, limit=2)
        [begun] = await log.partitions("t", "g")
        assert (begun.position, begun.end, begun.undelivered) == (offsets[1], offsets[2], 1)


async def _finish(log: Log, *, limit: int) -> None:
    """Do away with the next records."""
    await log.accept([delivery.lease for delivery in await claim(log, limit=limit)])
