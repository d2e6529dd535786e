"""Named leases on what processes share."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.redis import RedisCache, RedisServer, RedisTarget
from gristmill.domain.errors import StaleRead
from gristmill.engine.named_lease import NamedLease
from gristmill.ports.cache import Cache
from tests.runners.driving import until
from tests.runners.places import Places, RedisPlaces, SqlitePlaces

TTL_MS = 600


@pytest.fixture
async def cache(places: Places) -> AsyncIterator[Cache]:
    if isinstance(places, RedisPlaces):
        server = RedisServer(RedisTarget(url=places.process.url))
        yield RedisCache(server, SystemClock())
        await server.close()
    else:
        assert isinstance(places, SqlitePlaces)
        yield (await places.store()).cache


def lease_on(cache: Any) -> NamedLease:
    return NamedLease(cache, "sweep", ttl_ms=TTL_MS, clock=SystemClock())


class Deaf:
    """A cache that claims to have renewed."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self.is_deaf = True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)

    async def renew(self, key: str, *, value: str, ttl_ms: int) -> bool:
        return self.is_deaf or await self._cache.renew(key, value=value, ttl_ms=ttl_ms)


@pytest.mark.parametrize("places", ["sqlite", "redis"], indirect=True)
async def test_AC_EN_038_a_stale_token_can_neither_renew_nor_release(cache: Cache) -> None:
    stale, fresh = lease_on(cache), lease_on(cache)
    assert await stale.try_take()
    assert await stale.try_take()
    assert not await fresh.try_take()
    await until(fresh.try_take)
    assert not await stale.renew()
    assert not await stale.release()
    assert not await stale.try_take()
    assert await fresh.renew()
    assert await fresh.release()
    assert await stale.try_take()


@pytest.mark.parametrize("places", ["sqlite", "redis"], indirect=True)
async def test_AC_EN_038_a_holder_keeps_its_lease_and_stops_when_it_is_lost(cache: Cache) -> None:
    deaf = Deaf(cache)
    deaf.is_deaf = False
    other, has_begun, ends = lease_on(cache), asyncio.Event(), []

    async def work() -> None:
        try:
            async with lease_on(deaf).held():
                has_begun.set()
                await asyncio.Event().wait()
        except StaleRead as error:
            ends.append(str(error))

    holder = asyncio.create_task(work())
    await has_begun.wait()
    await asyncio.sleep(2 * TTL_MS / 1_000)
    assert not await other.try_take()
    deaf.is_deaf = True
    await until(other.try_take)
    deaf.is_deaf = False
    await asyncio.wait_for(holder, 10)
    assert ends == ["named lease: 'sweep' (somebody else does it now)"]
    assert await other.renew()
