"""What every cache must hold."""

from __future__ import annotations

import asyncio

import pytest

from gristmill.ports.cache import Cache
from gristmill.testing.clock import FakeClock
from gristmill.testing.contracts.backend import Backend, Contract

__all__ = ["CacheContract"]


class CacheContract(Contract):
    """See `ports.cache.Cache`."""

    @pytest.fixture
    def cache(self, backend: Backend) -> Cache:
        """The backend's cache."""
        return backend.cache

    async def test_a_value_is_there_until_its_end(self, cache: Cache, clock: FakeClock) -> None:
        await cache.put("k", "v", ttl_ms=100)
        clock.advance(99)
        assert await cache.get("k") == "v"
        clock.advance(1)
        assert await cache.get("k") is None

    async def test_a_later_put_replaces_value_and_end(self, cache: Cache, clock: FakeClock) -> None:
        await cache.put("k", "old", ttl_ms=10)
        await cache.put("k", "new", ttl_ms=100)
        clock.advance(50)
        assert await cache.get("k") == "new"

    async def test_only_the_first_put_if_absent_stores(self, cache: Cache) -> None:
        assert await cache.put_if_absent("k", "first", ttl_ms=100) is None
        assert await cache.put_if_absent("k", "second", ttl_ms=100) == "first"
        assert await cache.get("k") == "first"

    async def test_an_ended_value_counts_as_absent(self, cache: Cache, clock: FakeClock) -> None:
        await cache.put_if_absent("k", "first", ttl_ms=100)
        clock.advance(100)
        assert await cache.put_if_absent("k", "second", ttl_ms=100) is None
        assert await cache.get("k") == "second"

    async def test_of_many_at_once_one_stores(self, cache: Cache) -> None:
        calls = [cache.put_if_absent("k", str(number), ttl_ms=100) for number in range(20)]
        answers = await asyncio.gather(*calls)
        winner = await cache.get("k")
        assert [answer for answer in answers if answer is not None] == [winner] * 19

    async def test_delete_removes_and_says_so(self, cache: Cache) -> None:
        await cache.put("k", "v", ttl_ms=100)
        assert await cache.delete("k")
        assert not await cache.delete("k")
        assert await cache.get("k") is None

    async def test_delete_with_a_value_spares_any_other(self, cache: Cache) -> None:
        await cache.put("k", "theirs", ttl_ms=100)
        assert not await cache.delete("k", value="mine")
        assert await cache.delete("k", value="theirs")

    async def test_renewing_moves_the_end_of_ones_own_value(self, cache: Cache, clock: FakeClock) -> None:
        await cache.put("k", "mine", ttl_ms=100)
        clock.advance(80)
        assert await cache.renew("k", value="mine", ttl_ms=100)
        clock.advance(80)
        assert await cache.get("k") == "mine"
        clock.advance(20)
        assert not await cache.renew("k", value="mine", ttl_ms=100)
        assert await cache.get("k") is None

    async def test_renewing_spares_any_other_value(self, cache: Cache, clock: FakeClock) -> None:
        await cache.put("k", "theirs", ttl_ms=100)
        assert not await cache.renew("k", value="mine", ttl_ms=1_000)
        assert not await cache.renew("absent", value="mine", ttl_ms=1_000)
        clock.advance(100)
        assert await cache.get("k") is None

    async def test_an_ended_value_cannot_be_deleted(self, cache: Cache, clock: FakeClock) -> None:
        await cache.put("k", "v", ttl_ms=100)
        clock.advance(100)
        assert not await cache.delete("k")

    async def test_many_ended_values_leave_live_ones_alone(self, cache: Cache, clock: FakeClock) -> None:
        await cache.put("live", "v", ttl_ms=1_000_000)
        for number in range(60):
            await cache.put(f"k{number}", "v", ttl_ms=1)
            clock.advance(1)
        assert await cache.get("live") == "v"
