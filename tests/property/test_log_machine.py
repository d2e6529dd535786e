"""Any sequence of appends, claims, outcomes, passing time and deaths leaves every record where a naive model has it."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple, rule

from gristmill.domain.log import Diagnosis, Lease, NewRecord
from gristmill.testing.clock import FakeClock
from gristmill.testing.contracts import Backend
from tests.contract.backends import SqliteBackends, memory_backend

T = TypeVar("T")

GROUPS = ("g1", "g2")
OWNERS = st.sampled_from(["ann", "bob"])
DELAYS_MS = st.sampled_from([0, 1, 500])


@dataclass
class Place:
    """What the model knows of one record in one group. `place` is fresh, waiting, leased, accepted or dead."""

    place: str
    visible_at_ms: int
    attempt: int = 0
    lease: Lease | None = None
    epoch: int = 0

    def is_claimable(self, now_ms: int) -> bool:
        return self.place in ("fresh", "waiting", "leased") and self.visible_at_ms <= now_ms

    def is_held_by(self, lease: Lease) -> bool:
        return self.place == "leased" and self.lease == lease


class LogMachine(RuleBasedStateMachine):
    """Drives a log and the model side by side."""

    leases = Bundle("leases")

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.clock = FakeClock()
        self.places: dict[tuple[str, int], Place] = {}
        self.killed = 0
        self.backend = self.run(self.open_backend())
        self.log = self.backend.log

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    async def open_backend(self) -> Backend:
        return memory_backend(self.clock)

    async def close_backend(self) -> None:
        pass

    def teardown(self) -> None:
        self.run(self.close_backend())
        self.runner.close()

    @initialize()
    def start_with_one_record(self) -> None:
        self.append(1, 0)

    @rule(count=st.integers(1, 4), delay_ms=DELAYS_MS)
    def append(self, count: int, delay_ms: int) -> None:
        due_at_ms = self.clock.now_ms() + delay_ms if delay_ms else 0
        records = [NewRecord(b"x", due_at_ms=due_at_ms)] * count
        for offset in self.run(self.log.append("t", records)):
            for group in GROUPS:
                self.places[group, offset] = Place("waiting" if delay_ms else "fresh", due_at_ms)

    @rule(target=leases, group=st.sampled_from(GROUPS), owner=OWNERS, limit=st.integers(1, 5))
    def claim(self, group: str, owner: str, limit: int) -> Any:
        now_ms = self.clock.now_ms()
        owner = f"{owner} {self.killed}"
        claimable = {
            offset for (of, offset), place in self.places.items() if of == group and place.is_claimable(now_ms)
        }
        deliveries = self.run(self.log.claim("t", group, owner=owner, limit=limit, lease_ms=1_000))
        assert len(deliveries) == min(limit, len(claimable))
        for delivery in deliveries:
            lease = delivery.lease
            assert lease.offset in claimable
            claimable.discard(lease.offset)
            place = self.places[group, lease.offset]
            assert lease.epoch > place.epoch
            place.attempt += 1
            assert delivery.attempt == place.attempt
            place.place, place.lease, place.epoch = "leased", lease, lease.epoch
            place.visible_at_ms = now_ms + 1_000
        return multiple(*(delivery.lease for delivery in deliveries))

    @rule(chosen=st.lists(leases, min_size=1, max_size=3, unique=True))
    def accept(self, chosen: list[Lease]) -> None:
        expected = [self.place_of(lease).is_held_by(lease) for lease in chosen]
        assert self.run(self.log.accept(chosen)) == expected
        for lease, is_held in zip(chosen, expected, strict=True):
            if is_held:
                self.place_of(lease).place = "accepted"

    @rule(lease=leases, delay_ms=DELAYS_MS, counted=st.booleans())
    def release(self, lease: Lease, delay_ms: int, counted: bool) -> None:
        place = self.place_of(lease)
        is_held = place.is_held_by(lease)
        assert self.run(self.log.release([lease], delay_ms=delay_ms, counted=counted)) == [is_held]
        if is_held:
            place.place, place.visible_at_ms = "waiting", self.clock.now_ms() + delay_ms
            place.attempt -= not counted

    @rule(lease=leases)
    def renew(self, lease: Lease) -> None:
        place = self.place_of(lease)
        is_held = place.is_held_by(lease)
        assert self.run(self.log.renew([lease], lease_ms=1_000)) == [is_held]
        if is_held:
            place.visible_at_ms = self.clock.now_ms() + 1_000

    @rule(lease=leases)
    def reject(self, lease: Lease) -> None:
        place = self.place_of(lease)
        is_held = place.is_held_by(lease)
        answer = self.run(self.log.reject(lease, Diagnosis("E", "text")))
        assert (answer == "written") == is_held
        if is_held:
            place.place = "dead"

    @rule()
    def requeue_the_oldest(self) -> None:
        for letter in self.run(self.log.dead_letters(limit=1)):
            assert self.run(self.log.requeue(letter.dead_letter_id))
            place = self.places[letter.group, letter.offset]
            assert place.place == "dead"
            place.place, place.attempt, place.visible_at_ms = "waiting", 0, self.clock.now_ms()

    @rule(duration_ms=st.sampled_from([1, 499, 1_000]))
    def advance(self, duration_ms: int) -> None:
        self.clock.advance(duration_ms)

    @rule(name=OWNERS)
    def kill_and_reclaim(self, name: str) -> None:
        owner = f"{name} {self.killed}"
        self.killed += 1
        held = [place for place in self.places.values() if place.place == "leased" and place.lease]
        mine = [place for place in held if place.lease and place.lease.owner == owner]
        assert self.backend.kill_owner is not None
        self.run(self.backend.kill_owner(owner, None))
        assert self.run(self.log.reclaim(me="me")) == len(mine)
        for place in mine:
            place.place, place.visible_at_ms = "waiting", 0

    @invariant()
    def lag_is_what_the_model_says(self) -> None:
        now_ms = self.clock.now_ms()
        for group in GROUPS:
            places = [place for (of, _), place in self.places.items() if of == group]
            in_flight = sum(place.place == "leased" and place.visible_at_ms > now_ms for place in places)
            waiting = sum(place.place in ("waiting", "leased") for place in places) - in_flight
            lag = self.run(self.log.lag("t", group))
            assert (lag.undelivered, lag.in_flight, lag.waiting, lag.dead) == (
                sum(place.place == "fresh" for place in places),
                in_flight,
                waiting,
                sum(place.place == "dead" for place in places),
            )

    def place_of(self, lease: Lease) -> Place:
        return self.places[lease.group, lease.offset]


class SqliteLogMachine(LogMachine):
    """The same over a file; what was written outlives reopening it."""

    async def open_backend(self) -> Backend:
        self.folder = tempfile.TemporaryDirectory()
        self.backends = SqliteBackends(Path(self.folder.name) / "store.sqlite", self.clock)
        return await self.backends.open()

    async def close_backend(self) -> None:
        await self.backends.close()
        self.folder.cleanup()

    @rule()
    def reopen(self) -> None:
        self.backend = self.run(self.backends.open())
        self.log = self.backend.log


TestMemoryLogMachine = LogMachine.TestCase
TestMemoryLogMachine.settings = settings(max_examples=60, stateful_step_count=40)
TestSqliteLogMachine = SqliteLogMachine.TestCase
TestSqliteLogMachine.settings = settings(max_examples=25, stateful_step_count=30)
