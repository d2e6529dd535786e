"""What every log must hold that can tell whether the turn of a record of a key has come."""

from __future__ import annotations

from typing import cast

import pytest

from gristmill.domain.log import Diagnosis, NewRecord
from gristmill.ports.log import KeyOrder, Log
from gristmill.testing.clock import FakeClock
from gristmill.testing.contracts.backend import LEASE_MS, Contract, claim

__all__ = ["KeyOrderContract"]


class KeyOrderContract(Contract):
    """See `ports.log.KeyOrder`."""

    @pytest.fixture
    def order(self, log: Log) -> KeyOrder:
        return cast(KeyOrder, log)

    async def test_a_leased_record_is_open_for_later_ones_of_its_key(self, log: Log, order: KeyOrder) -> None:
        a1, b1, a2 = await log.append("t", [_of("a"), _of("b"), _of("a")])
        [first, *_] = await claim(log, owner="somebody")
        assert await order.has_open_before("t", "g", key="a", offset=a2)
        assert not await order.has_open_before("t", "g", key="a", offset=a1)
        assert not await order.has_open_before("t", "g", key="b", offset=b1)
        assert await log.accept([first.lease]) == [True]
        assert not await order.has_open_before("t", "g", key="a", offset=a2)

    async def test_a_record_that_waits_is_open(self, log: Log, order: KeyOrder, clock: FakeClock) -> None:
        _, second = await log.append("t", [_of("a"), _of("a")])
        [first] = await claim(log, limit=1)
        await log.release([first.lease], delay_ms=60_000)
        await claim(log)
        assert await order.has_open_before("t", "g", key="a", offset=second)
        clock.advance(60_000)
        again = (await claim(log))[0]
        await log.accept([again.lease])
        assert not await order.has_open_before("t", "g", key="a", offset=second)

    async def test_a_record_whose_lease_is_over_is_open(self, log: Log, order: KeyOrder, clock: FakeClock) -> None:
        _, second = await log.append("t", [_of("a"), _of("a")])
        await claim(log, owner="dead", limit=1)
        clock.advance(LEASE_MS)
        assert await order.has_open_before("t", "g", key="a", offset=second)

    async def test_a_record_that_was_appended_with_a_delay_is_open(
        self, log: Log, order: KeyOrder, clock: FakeClock
    ) -> None:
        late = NewRecord(b"x", key="a", due_at_ms=clock.now_ms() + 60_000)
        _, second = await log.append("t", [late, _of("a")])
        assert [delivery.lease.offset for delivery in await claim(log)] == [second]
        assert await order.has_open_before("t", "g", key="a", offset=second)

    async def test_a_dead_letter_holds_nobody_up(self, log: Log, order: KeyOrder) -> None:
        _, second = await log.append("t", [_of("a"), _of("a")])
        [first] = await claim(log, limit=1)
        await log.reject(first.lease, Diagnosis("E", "text"))
        await claim(log)
        assert not await order.has_open_before("t", "g", key="a", offset=second)

    async def test_groups_and_topics_know_nothing_of_each_other(self, log: Log, order: KeyOrder) -> None:
        await log.append("t", [_of("a")])
        _, second = await log.append("other", [_of("a"), _of("a")])
        await claim(log)
        [first, _] = await claim(log, topic="other", group="h")
        await claim(log, topic="other")
        await log.accept([first.lease])
        assert not await order.has_open_before("other", "h", key="a", offset=second)
        assert await order.has_open_before("other", "g", key="a", offset=second)


def _of(key: str) -> NewRecord:
    return NewRecord(b"x", key=key)
