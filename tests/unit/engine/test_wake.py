"""A raised flag is never missed, and a wait ends with its time."""

from __future__ import annotations

import asyncio

import pytest

from gristmill.engine.wake import Wake, wait_first
from tests.dispatching import FakeClock


async def test_a_flag_raised_while_nobody_waits_is_seen_by_the_next_wait() -> None:
    clock, wake = FakeClock(), Wake()
    begun_at_ms = clock.now_ms()
    wake.set()
    await wake.wait()
    wake.set()
    await wake.wait_for(clock, timeout_ms=1_000)
    assert clock.now_ms() == begun_at_ms


async def test_a_wait_ends_with_its_time() -> None:
    clock, wake = FakeClock(), Wake()
    begun_at_ms = clock.now_ms()
    await wake.wait_for(clock, timeout_ms=1_000)
    assert clock.now_ms() - begun_at_ms == 1_000


async def test_a_raised_flag_ends_the_other_wait() -> None:
    clock, wake = FakeClock(), Wake()
    waiting = asyncio.ensure_future(wake.wait_for(clock, timeout_ms=10**9))
    await asyncio.sleep(0)
    wake.set()
    await waiting
    assert clock.now_ms() == 1_700_000_000_000


async def test_what_the_first_wait_raises_is_raised() -> None:
    async def broken() -> None:
        raise OSError("broken")

    with pytest.raises(OSError, match="broken"):
        await wait_first(broken(), FakeClock().sleep_ms(10))
