"""What every log must hold about who owns a record: fences, the end of leases, renewal and dead owners."""

from __future__ import annotations

import pytest

from gristmill.domain.log import Diagnosis, Lease
from gristmill.ports.log import Log
from gristmill.testing.clock import FakeClock
from gristmill.testing.contracts.backend import LEASE_MS, Backend, Contract, claim, records, values

__all__ = ["OwnershipContract"]


class OwnershipContract(Contract):
    """See `ports.log.Log`: a lease counts only while owner and epoch are those of the record."""

    async def test_leases_that_ended_together_are_claimed_one_by_one(self, log: Log, clock: FakeClock) -> None:
        await log.append("t", records("a", "b", "c"))
        await claim(log, owner="slow")
        clock.advance(LEASE_MS)
        for value in ("a", "b", "c"):
            assert values(await claim(log, limit=1)) == [value]

    async def test_a_lease_ends_and_the_record_goes_to_another(self, log: Log, clock: FakeClock) -> None:
        await log.append("t", records("a"))
        await claim(log)
        clock.advance(LEASE_MS - 1)
        assert await claim(log, owner="you") == []
        clock.advance(1)
        [second] = await claim(log, owner="you")
        assert second.attempt == 2

    async def test_P4_a_late_holder_changes_nothing(self, log: Log, clock: FakeClock) -> None:
        await log.append("t", records("a"))
        [first] = await claim(log)
        clock.advance(LEASE_MS)
        [second] = await claim(log, owner="you")
        assert await log.accept([first.lease]) == [False]
        assert await log.release([first.lease]) == [False]
        assert await log.renew([first.lease], lease_ms=LEASE_MS) == [False]
        assert await log.reject(first.lease, Diagnosis("E", "text")) == "lost"
        assert await log.accept([second.lease]) == [True]

    async def test_P4_an_earlier_lease_of_the_same_owner_is_late_too(self, log: Log, clock: FakeClock) -> None:
        await log.append("t", records("a"))
        [first] = await claim(log)
        clock.advance(LEASE_MS)
        [second] = await claim(log)
        assert await log.accept([first.lease]) == [False]
        assert await log.accept([second.lease]) == [True]

    async def test_a_lease_that_is_over_still_counts_until_somebody_else_claims(
        self, log: Log, clock: FakeClock
    ) -> None:
        await log.append("t", records("a"))
        [delivery] = await claim(log)
        clock.advance(LEASE_MS * 2)
        assert await log.accept([delivery.lease]) == [True]

    async def test_leases_of_other_topics_groups_and_owners_are_strangers(self, log: Log) -> None:
        await log.append("t", records("a"))
        lease = (await claim(log))[0].lease
        strangers = [
            Lease("other", lease.group, lease.offset, lease.owner, lease.epoch),
            Lease(lease.topic, "other", lease.offset, lease.owner, lease.epoch),
            Lease(lease.topic, lease.group, lease.offset + 1, lease.owner, lease.epoch),
            Lease(lease.topic, lease.group, lease.offset, "other", lease.epoch),
            Lease(lease.topic, lease.group, lease.offset, lease.owner, lease.epoch + 1),
        ]
        assert await log.accept(strangers) == [False] * 5
        assert await log.accept([*strangers, lease]) == [False] * 5 + [True]

    async def test_a_renewed_lease_lasts_from_now(self, log: Log, clock: FakeClock) -> None:
        await log.append("t", records("a"))
        [delivery] = await claim(log)
        clock.advance(LEASE_MS - 1)
        assert await log.renew([delivery.lease], lease_ms=LEASE_MS) == [True]
        clock.advance(LEASE_MS - 1)
        assert await claim(log, owner="you") == []
        clock.advance(1)
        assert values(await claim(log, owner="you")) == ["a"]

    async def test_a_shortened_lease_ends_earlier(self, log: Log, clock: FakeClock) -> None:
        await log.append("t", records("a"))
        [delivery] = await claim(log)
        assert await log.renew([delivery.lease], lease_ms=10) == [True]
        clock.advance(10)
        assert values(await claim(log, owner="you")) == ["a"]

    async def test_renewing_spends_no_attempt(self, log: Log) -> None:
        await log.append("t", records("a"))
        [delivery] = await claim(log)
        for _ in range(5):
            await log.renew([delivery.lease], lease_ms=LEASE_MS)
        await log.release([delivery.lease])
        assert [again.attempt for again in await claim(log)] == [2]

    async def test_P5_nobody_is_reclaimed_while_alive(self, log: Log) -> None:
        await log.append("t", records("a"))
        [delivery] = await claim(log)
        assert await log.reclaim(me="you") == 0
        assert await log.accept([delivery.lease]) == [True]

    async def test_P5_a_dead_owner_is_reclaimed_at_once_and_fenced(self, backend: Backend) -> None:
        kill_owner = _killer(backend)
        await backend.log.append("t", records("a", "b"))
        leases = [delivery.lease for delivery in await claim(backend.log, owner="victim", limit=1)]
        await claim(backend.log, owner="alive")
        await kill_owner("victim", None)
        assert await backend.log.reclaim(me="alive") == 1
        assert await backend.log.reclaim(me="alive") == 0
        assert await backend.log.accept(leases) == [False]
        assert values(await claim(backend.log, owner="alive")) == ["a"]

    async def test_P8_a_death_counts_as_an_attempt(self, backend: Backend) -> None:
        kill_owner = _killer(backend)
        await backend.log.append("t", records("a"))
        for attempt in (1, 2, 3):
            [delivery] = await claim(backend.log, owner=f"victim {attempt}")
            assert delivery.attempt == attempt
            await kill_owner(f"victim {attempt}", None)
            await backend.log.reclaim(me="me")

    async def test_a_death_charges_only_what_was_worked_on(self, backend: Backend) -> None:
        kill_owner = _killer(backend)
        await backend.log.append("t", records("a", "b", "c"))
        deliveries = await claim(backend.log, owner="victim")
        await kill_owner("victim", frozenset({deliveries[1].lease.offset}))
        assert await backend.log.reclaim(me="me") == 3
        assert [delivery.attempt for delivery in await claim(backend.log)] == [1, 2, 1]

    async def test_an_owner_does_not_reclaim_itself(self, backend: Backend) -> None:
        kill_owner = _killer(backend)
        await backend.log.append("t", records("a"))
        await claim(backend.log, owner="victim")
        await kill_owner("victim", None)
        assert await backend.log.reclaim(me="victim") == 0


def _killer(backend: Backend):  # type: ignore[no-untyped-def]
    if "owner_probe" not in backend.log.capabilities or backend.kill_owner is None:
        pytest.skip("the log does not claim to notice a death at once")
    return backend.kill_owner
