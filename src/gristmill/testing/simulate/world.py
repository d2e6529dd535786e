"""A group, or two of them over one store, in one process: what a seed draws happens, until all comes to rest."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import msgspec

from gristmill.adapters.kafka.core.tracker import OffsetTracker
from gristmill.adapters.memory import MemoryLog, MemoryState
from gristmill.domain.errors import Unavailable
from gristmill.domain.frame import Frame, FrameDone
from gristmill.domain.log import NewRecord
from gristmill.engine.dispatcher import Dispatcher
from gristmill.engine.service import Engine
from gristmill.engine.settings import recovery_topic_of
from gristmill.testing.simulate.cursor import Tracker
from gristmill.testing.simulate.machine.clock import CallerClock, ProcessClock, Wall
from gristmill.testing.simulate.machine.link import Address
from gristmill.testing.simulate.machine.loop import Process, SimulationLoop
from gristmill.testing.simulate.machine.ports import FaultyPort, Weather
from gristmill.testing.simulate.member import LEASE_MS, Member, Role, Surroundings, make_dispatcher, make_engine
from gristmill.testing.simulate.posts import GENERATORS
from gristmill.testing.simulate.recording import History, RecordedLog, RecordedState
from gristmill.testing.simulate.scenario import CALM_US, Deed, Posting, Scenario

__all__ = ["Parts", "World"]

LOOK_US = 200_000
REST_US_MAX = 60_000_000
REST_US_MAX_AFTER_SILENCE = 600_000_000
"""Within a minute of calm all comes to rest. What was with an engine that fell silent is missed a minute later only,
and may meet the like again."""

RESTART_US = 500_000


def _as_it_is(port: Any) -> Any:
    return port


class Parts(msgspec.Struct, frozen=True):
    """What a world is built of; a test of the harness puts a faulty part in its place.

    Attributes:
        wrap_log, wrap_state: what stands between the store and the history of it.
        wrap_ports: what stands between the history and the processes: given log and state.
        make_tracker: keeps the offsets of a group that may be committed.
    """

    wrap_log: Callable[[Any], Any] = _as_it_is
    wrap_state: Callable[[Any], Any] = _as_it_is
    wrap_ports: Callable[[Any, Any], tuple[Any, Any]] = lambda log, state: (log, state)
    make_tracker: Callable[[int, str], Tracker] = OffsetTracker


class World:
    """The simulation of one scenario."""

    def __init__(self, scenario: Scenario, loop: SimulationLoop, parts: Parts) -> None:
        self.scenario = scenario
        self.loop = loop
        self.failures: list[str] = []
        self.members: list[Member] = []
        self.history = History(loop, lease_ms=LEASE_MS, make_tracker=parts.make_tracker)
        self.weather = Weather(loop, scenario)
        self._chance = random.Random(f"{scenario.seed}/world")
        self._wall = Wall(loop)
        self._clock = CallerClock(loop, self._wall)
        self.memory = MemoryLog(self._clock)
        self.state = MemoryState(self.memory.ledger, is_log_apart=scenario.is_log_apart)
        recorded_log = RecordedLog(parts.wrap_log(self.memory), self.memory, self.history)
        recorded_state = RecordedState(parts.wrap_state(self.state), self.history)
        self.log, self._state = parts.wrap_ports(recorded_log, recorded_state)
        self._marks: dict[str, frozenset[int]] = {}
        self._births = 0
        self._addresses = [Address(loop, self._chance, self._watch) for _ in scenario.groups]
        self._published = 0

    async def play(self) -> None:
        """Let everything happen and return when all has come to rest."""
        for address, engine_count in zip(self._addresses, self.scenario.groups, strict=True):
            self._bear("dispatcher", address)
            for _ in range(engine_count):
                self._bear("engine", address)
        self._begin_to_publish()
        for deed in self.scenario.deeds:
            await self._wait_until(deed.at_us)
            self._do(deed)
        await self._rest()

    def open_places(self) -> list[str]:
        """Return what the log has not seen the end of."""
        found: list[str] = []
        for generator in GENERATORS:
            for topic in (generator.topic, recovery_topic_of(generator)):
                state = self.memory.ledger.topics.get(topic)
                group = state.groups.get(generator.type) if state else None
                if state is None:
                    continue
                fresh = [placed.offset for placed in state.after(group.cursor if group else 0)]
                found += [f"{topic}/{offset}" for offset in [*(group.held if group else ()), *fresh]]
        return found

    def busy_members(self) -> list[str]:
        """Return who still believes to have work."""
        counts = {member.owner: _count_open(member.service) for member in self.living()}
        return [f"{owner} has {count}" for owner, count in counts.items() if count]

    def living(self) -> list[Member]:
        """Return the dispatchers and engines that live."""
        return [member for member in self.members if not member.is_dead]

    async def _rest(self) -> None:
        has_silence = any(deed.act in ("vanish", "freeze") for deed in self.scenario.deeds)
        limit_us = max(self.loop.now_us, CALM_US) + (REST_US_MAX_AFTER_SILENCE if has_silence else REST_US_MAX)
        while self._published < len(self.scenario.postings) or self.open_places() or self.busy_members():
            if self.loop.now_us > limit_us:
                return
            await self.loop.pause_us(LOOK_US)

    async def _wait_until(self, at_us: int) -> None:
        await self.loop.pause_us(max(0, at_us - self.loop.now_us))

    def _begin_to_publish(self) -> None:
        publisher = Member("publisher", "publisher", self._addresses[0], lambda dead: self._begin_to_publish())
        log = FaultyPort(self.log, publisher, self.weather)
        self.loop.start(publisher, self._publish(log, self.scenario.postings[self._published :]))

    async def _publish(self, log: Any, postings: tuple[Posting, ...]) -> None:
        for posting in postings:
            await self._wait_until(posting.at_us)
            while True:
                try:
                    await log.append(posting.topic, [NewRecord(posting.text.encode())])
                    break
                except Unavailable:
                    # Perhaps it is there: a record more is a record more, and not a fault.
                    await self.loop.pause_us(LOOK_US)
            self._published += 1

    def _bear(self, role: Role, address: Address) -> None:
        self._births += 1
        member = Member(role, f"{role}-{self._births}", address, self._bury)
        clock = ProcessClock(self.loop, self._wall)
        self._clock.add(member, clock)
        around = Surroundings(
            FaultyPort(self.log, member, self.weather), FaultyPort(self._state, member, self.weather), clock
        )
        self.members.append(member)
        self.history.note_process("boot", member.owner)
        if role == "dispatcher":
            self.history.hand_over()
        self.loop.start(member, self._live(member, around))

    async def _live(self, member: Member, around: Surroundings) -> None:
        try:
            service = self._make(member, around)
            member.service = service
            await service.start()
            await service.join()
        except Exception as error:
            self.failures.append(f"{member.owner} ended with {error!r}")
            member.die()

    def _make(self, member: Member, around: Surroundings) -> Dispatcher | Engine:
        if member.role == "engine":
            return make_engine(member, around)
        return make_dispatcher(
            member,
            around,
            max_in_flight=self.scenario.max_in_flight,
            chance=self._chance,
            read_marks=lambda owner: self._marks.get(owner, frozenset()),
        )

    def _bury(self, member: Member) -> None:
        """What happens around a process that has just died: ends of connections, marks, and soon another one."""
        self._marks[member.owner] = member.marks.read()
        if not member.is_silent:
            self.history.note_process("crash", member.owner)
            if member.role == "engine":
                member.address.cut(engine=member.owner)
            elif member.link is not None:
                member.link.vanish()
            if self.scenario.is_probed:
                self.memory.mark_dead(member.owner, marked=self._marks[member.owner])
        birth = (self.loop.now_us + RESTART_US) / 1_000_000
        self.loop.call_at(birth, self._bear, member.role, member.address, context=member.address.outside)

    def _do(self, deed: Deed) -> None:
        living = self.living()
        if not living:
            return
        member = living[deed.target % len(living)]
        until = (self.loop.now_us + deed.amount_us) / 1_000_000
        match deed.act:
            case "kill":
                member.die()
            case "blackout":
                for each in living:
                    each.die()
            case "vanish":
                member.die(is_silent=member.role == "engine")
            case "freeze":
                member.is_frozen = True
                self.loop.call_at(until, self.loop.thaw, member)
            case "slow":
                member.slow_us = min(deed.amount_us, 300_000)
                self.loop.call_at(until, _hurry, member)
            case "cut":
                member.address.cut(engine=member.owner if member.role == "engine" else "")
            case "stop":
                if member.service is not None:
                    self.loop.start(member, self._stop(member, deed.amount_us // 1_000))
            case "wall":
                self.history.has_steady_time = False
                self._wall.set(deed.amount_us // 1_000)
            case "outage":
                self.weather.outage_until_us = self.loop.now_us + deed.amount_us

    async def _stop(self, member: Member, grace_ms: int) -> None:
        if member.service is not None:
            await member.service.stop(grace_ms=grace_ms)
        member.die()

    def _watch(self, message: Frame | FrameDone) -> None:
        """Write down what is handed out and what is reported as done."""
        if isinstance(message, Frame):
            for delivery in message.deliveries:
                lease = delivery.lease
                self.history.note("start", lease, attempt=self.history.tries_under[lease])
            return
        for ended in message.ended:
            if ended.accepted:
                self.history.note("report", ended.lease)


def _hurry(process: Process) -> None:
    process.slow_us = 0


def _count_open(service: Dispatcher | Engine | None) -> int:
    if isinstance(service, Dispatcher):
        return service.in_flight_count
    return service.open_count if service is not None else 0
