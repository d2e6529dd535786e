"""Lets one process of many do something: a lease with a name, on whatever cache they share.

Layout: key `lease:<name>`, value the holder's random token, which ends by itself. The token is compared before it is
renewed or removed, so that a holder whose time is over can do no harm to the next.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import structlog

from gristmill.domain.errors import StaleRead, Unavailable
from gristmill.engine.wake import wait_first
from gristmill.ports.cache import Cache
from gristmill.ports.clock import Clock

__all__ = ["NamedLease"]

BEATS_PER_LEASE = 3
TOKEN_BYTES = 16

_log = structlog.get_logger()


class NamedLease:
    """One holder's side of a lease; make a new one for each start.

    Args:
        name: of what only one may do at a time.
        ttl_ms: after which a holder that fell silent counts as gone; renewed every third of it.
    """

    def __init__(self, cache: Cache, name: str, *, ttl_ms: int, clock: Clock) -> None:
        self._cache = cache
        self._key = f"lease:{name}"
        self._name = name
        self._ttl_ms = ttl_ms
        self._clock = clock
        self._token = os.urandom(TOKEN_BYTES).hex()

    async def try_take(self) -> bool:
        """Take the lease unless somebody holds it.

        Raises:
            Unavailable: it could not be asked for.
        """
        live = await self._cache.put_if_absent(self._key, self._token, ttl_ms=self._ttl_ms)
        # One's own token is there after an answer that got lost; it may be about to end.
        return live is None or (live == self._token and await self.renew())

    async def renew(self) -> bool:
        """Hold on to it for a whole `ttl_ms` from now; False if it is not ours any more."""
        return await self._cache.renew(self._key, value=self._token, ttl_ms=self._ttl_ms)

    async def release(self) -> bool:
        """Give it up; False if it was not ours any more."""
        return await self._cache.delete(self._key, value=self._token)

    @asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        """Hold the lease while the block runs, waiting for it first; the block is cancelled when it is lost.

        Raises:
            StaleRead: the lease was lost while the block ran.
        """
        while not await self._take_or_log():
            await self._clock.sleep_ms(self._beat_ms)
        owner = asyncio.current_task()
        cancelled_before = 0 if owner is None else owner.cancelling()
        keeper = asyncio.create_task(self._keep(owner), name=f"lease.{self._name}")
        try:
            yield
        except asyncio.CancelledError:
            if owner is None or not keeper.done() or keeper.cancelled():
                raise
            if owner.uncancel() > cancelled_before:
                # Somebody else has cancelled the block too, and waits for it to end so.
                raise
            raise StaleRead("named lease", value=self._name, advice="somebody else does it now") from None
        finally:
            keeper.cancel()
            await self._release_or_log()

    async def _keep(self, owner: asyncio.Task[object] | None) -> None:
        """Renew until that fails for good, then cancel the holder."""
        safe_until_ms = self._now_ms() + self._ttl_ms - self._beat_ms
        while True:
            await self._clock.sleep_ms(min(self._beat_ms, max(1, safe_until_ms - self._now_ms())))
            asked_at_ms = self._now_ms()
            try:
                if not await self._renew_within(max(1, safe_until_ms - asked_at_ms)):
                    break
                safe_until_ms = asked_at_ms + self._ttl_ms - self._beat_ms
            except Exception as error:
                # Whatever it was: an unwatched holder would go on for ever.
                _log.warning("named lease cannot be renewed", name=self._name, error=repr(error))
                if self._now_ms() >= safe_until_ms:
                    break
        _log.warning("named lease lost", name=self._name)
        if owner is not None:
            owner.cancel()

    async def _renew_within(self, limit_ms: int) -> bool:
        answers: list[bool] = []

        async def ask() -> None:
            answers.append(await self.renew())

        await wait_first(ask(), self._clock.sleep_ms(limit_ms))
        return bool(answers) and answers[0]

    async def _take_or_log(self) -> bool:
        try:
            return await self.try_take()
        except Unavailable as error:
            _log.warning("named lease cannot be taken", name=self._name, error=str(error))
            return False

    async def _release_or_log(self) -> None:
        try:
            await self.release()
        except Unavailable as error:
            _log.warning("named lease ends by itself", name=self._name, error=str(error))

    @property
    def _beat_ms(self) -> int:
        return max(1, self._ttl_ms // BEATS_PER_LEASE)

    def _now_ms(self) -> int:
        return self._clock.monotonic_us() // 1_000
