"""What every store of run fences must hold; see `ports.fencing`."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pytest

from gristmill.domain.errors import StaleRead
from gristmill.ports.fencing import Ended, Held, RunFences, RunName, StartAnswer, Started
from gristmill.testing.clock import FakeClock

__all__ = ["FencesBackend", "RunFencesContract"]

LEASE_MS = 30_000
RUN = RunName("enrich", "42")


@dataclass
class FencesBackend:
    """One store of run fences, seen by two processes that live by one clock."""

    runs: RunFences
    other: RunFences
    clock: FakeClock


async def _start(runs: RunFences, owner: str, *, run: RunName = RUN, generation: int = 0) -> StartAnswer:
    return await runs.start(run, owner=owner, lease_ms=LEASE_MS, generation=generation)


class RunFencesContract:
    """Subclass it and give it a fixture `backend` that yields a `FencesBackend`."""

    async def test_a_run_has_one_owner_until_its_lease_is_over(self, backend: FencesBackend) -> None:
        runs, other, clock = backend.runs, backend.other, backend.clock
        assert await _start(runs, "a") == Started(1, 1)
        assert await _start(other, "b") == Held(clock.now_ms() + LEASE_MS)
        assert await _start(other, "b", run=RunName("enrich", "43")) == Started(1, 1)
        assert await _start(runs, "a") == Started(2, 2)
        clock.advance(LEASE_MS)
        assert await _start(other, "b") == Started(3, 3)
        assert await _start(runs, "a") == Held(clock.now_ms() + LEASE_MS)

    async def test_of_many_that_start_at_once_one_gets_the_run(self, backend: FencesBackend) -> None:
        both = (backend.runs, backend.other)
        answers = await asyncio.gather(*(_start(both[number % 2], f"owner {number}") for number in range(8)))
        assert [one for one in answers if isinstance(one, Started)] == [Started(1, 1)]

    async def test_a_renewed_lease_lasts_and_one_that_is_lost_is_not_renewed(self, backend: FencesBackend) -> None:
        runs, other, clock = backend.runs, backend.other, backend.clock
        await _start(runs, "a")
        clock.advance(LEASE_MS - 1)
        assert await runs.renew(RUN, epoch=1, lease_ms=LEASE_MS)
        clock.advance(LEASE_MS - 1)
        assert isinstance(await _start(other, "b"), Held)
        clock.advance(1)
        assert await _start(other, "b") == Started(2, 2)
        assert not await runs.renew(RUN, epoch=1, lease_ms=LEASE_MS)

    async def test_a_write_under_an_older_fence_changes_nothing(self, backend: FencesBackend) -> None:
        runs, other, clock = backend.runs, backend.other, backend.clock
        await _start(runs, "a")
        clock.advance(LEASE_MS)
        await _start(other, "b")
        with pytest.raises(StaleRead, match="not ours"):
            await runs.store(RUN, epoch=1, status="done", result=b"late")
        assert not await runs.free(RUN, epoch=1)
        assert await runs.result(RUN) is None
        await other.store(RUN, epoch=2, status="done", result=b"first")
        for epoch in (1, 2, 3):
            with pytest.raises(StaleRead):
                await runs.store(RUN, epoch=epoch, status="failed", result=b"again")
        assert await runs.result(RUN) == ("done", b"first")

    async def test_what_has_ended_for_good_is_not_started_again(self, backend: FencesBackend) -> None:
        runs = backend.runs
        await _start(runs, "a")
        await runs.store(RUN, epoch=1, status="rejected", result=b"")
        assert await _start(runs, "a") == Ended("rejected")
        assert await _start(backend.other, "b", generation=5) == Ended("rejected")

    async def test_what_is_held_or_has_failed_is_taken_up(self, backend: FencesBackend) -> None:
        runs = backend.runs
        await _start(runs, "a")
        await runs.store(RUN, epoch=1, status="held", result=b"x")
        assert await _start(runs, "b") == Started(2, 2)
        assert await runs.result(RUN) is None
        await runs.store(RUN, epoch=2, status="failed", result=b"y")
        assert await _start(runs, "b") == Ended("failed")
        # A new generation has a budget of its own, and a fence that goes on.
        assert await _start(runs, "b", generation=1) == Started(3, 1)

    async def test_a_run_that_was_given_back_is_free_at_once(self, backend: FencesBackend) -> None:
        runs, other = backend.runs, backend.other
        await _start(runs, "a")
        assert await runs.free(RUN, epoch=1, is_counted=False)
        assert not await runs.free(RUN, epoch=1)
        with pytest.raises(StaleRead):
            await runs.store(RUN, epoch=1, status="done", result=b"late")
        assert await _start(other, "b") == Started(2, 1)
        assert await other.free(RUN, epoch=2)
        assert await _start(runs, "a") == Started(3, 2)
