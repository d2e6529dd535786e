"""A backend under test, with the clock that it lives by and the ways to hurt it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from gristmill.domain.commit import RunCommit
from gristmill.domain.ids import ItemId, RunId, compute_run_id
from gristmill.domain.item import Item
from gristmill.domain.log import Delivery, Lease, NewRecord
from gristmill.ports.cache import Cache
from gristmill.ports.front import Front
from gristmill.ports.log import Log
from gristmill.ports.outbox import Outlet
from gristmill.ports.state import State
from gristmill.testing.clock import FakeClock

__all__ = ["LEASE_MS", "Backend", "Contract", "claim", "make_commit", "records", "run_id_of", "values"]

LEASE_MS = 30_000


@dataclass
class Backend:
    """The ports of one backend.

    Attributes:
        kill_owner: makes an owner dead as `reclaim` will see it; the second argument are the offsets it was working
            on, None when it kept no marks. Needed for `owner_probe`.
        reopen: closes the backend and opens the same data again. Needed for `durable`.
    """

    log: Log
    state: State
    cache: Cache
    clock: FakeClock
    front: Front | None = None
    outlet: Outlet | None = None
    kill_owner: Callable[[str, frozenset[int] | None], Coroutine[Any, Any, None]] | None = None
    reopen: Callable[[], Coroutine[Any, Any, Backend]] | None = None


class Contract:
    """Fixtures that all contracts share."""

    @pytest.fixture
    def clock(self) -> FakeClock:
        """The backend's clock; tests move it."""
        return FakeClock()

    @pytest.fixture
    async def backend(self, clock: FakeClock) -> Backend:
        """Overridden by the test class of a backend."""
        raise NotImplementedError("give the subclass a fixture named backend")

    @pytest.fixture
    def log(self, backend: Backend) -> Log:
        """The backend's log."""
        return backend.log

    @pytest.fixture
    def state(self, backend: Backend) -> State:
        """The backend's state."""
        return backend.state


def records(*texts: str) -> list[NewRecord]:
    """Make records with these values."""
    return [NewRecord(text.encode()) for text in texts]


def values(deliveries: Sequence[Delivery]) -> list[str]:
    """Return what was delivered, as text."""
    return [delivery.value.decode() for delivery in deliveries]


async def claim(
    log: Log, *, topic: str = "t", group: str = "g", owner: str = "me", limit: int = 10, lease_ms: int = LEASE_MS
) -> list[Delivery]:
    """Claim with the defaults of these tests."""
    return await log.claim(topic, group, owner=owner, limit=limit, lease_ms=lease_ms)


def make_commit(number: int, *, lease: Lease | None = None, **changes: object) -> RunCommit:
    """Make an ended run of item `number` at log position `number`; `changes` override its fields."""
    fields: dict[str, object] = {
        "run_id": run_id_of(number),
        "plan": "plan",
        "plan_version": 1,
        "generator": "gen",
        "item": Item(ItemId(number), source="src", input_id=f"in-{number}", revision=number, text=f"text {number}"),
        "position": number,
        "status": "done",
        "started_at_ms": 1_000,
        "ended_at_ms": 2_000,
        "lease": lease,
        "accept": lease is not None,
    }
    return RunCommit(**{**fields, **changes})  # type: ignore[arg-type]


def run_id_of(number: int, plan: str = "plan") -> RunId:
    """Return the run id that `make_commit` uses."""
    return compute_run_id(generator="gen", topic="t", offset=number, plan=plan)
