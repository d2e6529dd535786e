"""Waiting for something to happen, but not for ever: by the Clock, so that a test owns the time-out."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from gristmill.ports.clock import Clock

__all__ = ["Wake", "wait_first"]


class Wake:
    """A flag that one loop waits on and anyone raises. Raised while nobody waits, it is seen by the next wait."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def set(self) -> None:
        """Wake the waiting loop, now or when it next waits."""
        self._event.set()

    async def wait(self) -> None:
        """Return once the flag has been raised, and lower it."""
        await self._event.wait()
        self._event.clear()

    async def wait_or(self, other: Coroutine[Any, Any, None]) -> None:
        """Return once the flag has been raised or `other` is done, and lower the flag; `other` is then cancelled."""
        if self._event.is_set():
            other.close()
        else:
            await wait_first(self._event.wait(), other)
        self._event.clear()

    async def wait_for(self, clock: Clock, *, timeout_ms: int) -> None:
        """Return once the flag has been raised or after `timeout_ms`, and lower the flag."""
        await self.wait_or(clock.sleep_ms(timeout_ms))


async def wait_first(*waits: Coroutine[Any, Any, object]) -> None:
    """Return when one of the waits is done, with the others cancelled; raise what the finished one raised."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in done:
        task.result()
