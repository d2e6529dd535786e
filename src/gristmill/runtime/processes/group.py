"""The main process's view of its group: starts a dispatcher and engines, keeps them alive, drains and stops them.

Only main reacts to signals. Whatever way main ends, its children end with it; what they had under way is leased and is
delivered again to the next group.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress

import structlog

from gristmill.domain.errors import ConfigError, Unavailable
from gristmill.domain.front.health import ServiceHealth
from gristmill.ports.clock import Clock
from gristmill.runtime.group.health_core import ChildState, decide_health
from gristmill.runtime.processes.channel import Begin
from gristmill.runtime.processes.child import PROBE_TIMEOUT_S, Child, Launch
from gristmill.runtime.processes.supervision_core import GiveUp, Supervision
from gristmill.runtime.spec import GroupSpec
from gristmill.runtime.telemetry import forget_process

__all__ = ["ProcessGroup"]

PROBE_EVERY_S = 4.0
SILENT_PROBES = 2
"""A process that leaves so many probes unanswered does not serve."""

KILL_AFTER_MS = 500
"""Past its grace a child gets this long to say goodbye before it is killed."""

_log = structlog.get_logger()


class ProcessGroup:
    """A dispatcher and engines as child processes.

    Args:
        flows: flow name -> types of its generators in this group, for health.
        launch: starts a process for a role.
    """

    def __init__(self, spec: GroupSpec, *, flows: Mapping[str, Sequence[str]], clock: Clock, launch: Launch) -> None:
        self._spec = spec
        self._flows = flows
        self._clock = clock
        self._launch = launch
        self._supervision = Supervision()
        engines = [f"engine-{number}" for number in range(1, spec.settings.engine.count + 1)]
        self._roles = {**dict.fromkeys(engines, "engine"), "dispatcher": "dispatcher"}
        self._children: dict[str, Child] = {}
        self._started = {name: asyncio.Event() for name in self._roles}
        self._main: asyncio.Task[None] | None = None
        self._stopping = asyncio.Event()

    async def start(self) -> None:
        """Start every child and return when all of them have started.

        Raises:
            ConfigError: a child refused to start, ended, or did not start in time; all others are gone then.
        """
        self._main = asyncio.create_task(self._keep_all(), name="group")
        starting = asyncio.create_task(self._wait_started())
        timeout_s = self._spec.settings.main.start_timeout_s
        await asyncio.wait([self._main, starting], timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        if starting.done() and not self._main.done():
            return
        starting.cancel()
        late = [name for name, started in self._started.items() if not started.is_set()]
        await self._end(grace_ms=0)
        await self.join()
        raise ConfigError(f"processes did not start within {timeout_s:g} s", value=", ".join(late))

    async def join(self) -> None:
        """Return when the group has stopped.

        Raises:
            Unavailable: a child died too often.
        """
        if self._main is not None:
            await asyncio.wait([self._main])
            if not self._main.cancelled():
                self._main.result()

    async def drain(self) -> None:
        """Have nothing new claimed, and return as soon as nothing is under way. Nobody is restarted from now on."""
        self._stopping.set()
        dispatcher = self._children.get("dispatcher")
        if dispatcher is not None:
            await dispatcher.drain()

    async def stop(self, *, is_hurried: bool = False) -> None:
        """Stop every child within its grace, then kill it. Safe to call twice."""
        settings = self._spec.settings
        grace_s = 0 if is_hurried else max(settings.dispatcher.grace_s, settings.engine.grace_s)
        await self._end(grace_ms=round(grace_s * 1000))

    async def health(self) -> list[ServiceHealth]:
        """Ask the children and return the health of each service."""
        states = [self._state_of(name, role) for name, role in self._roles.items()]
        dispatcher = self._children.get("dispatcher")
        return decide_health(
            states,
            await dispatcher.probe() if dispatcher is not None else None,
            flows=self._flows,
            task_timeout_ms=round(self._spec.settings.engine.task_timeout_s * 1000),
            is_stopping=self._stopping.is_set(),
        )

    def _state_of(self, name: str, role: str) -> ChildState:
        child = self._children.get(name)
        if child is None:
            return ChildState(name, role, "is dead")
        if not child.started.is_set():
            return ChildState(name, role, "has not started yet")
        if child.unanswered >= SILENT_PROBES:
            return ChildState(name, role, f"has not answered for {_silent_s(child):g} s")
        return ChildState(name, role)

    async def _wait_started(self) -> None:
        await asyncio.gather(*(started.wait() for started in self._started.values()))

    async def _keep_all(self) -> None:
        keepers = [asyncio.create_task(self._keep(name, role), name=name) for name, role in self._roles.items()]
        try:
            await asyncio.wait(keepers, return_when=asyncio.FIRST_EXCEPTION)
        finally:
            self._stopping.set()
            for keeper in keepers:
                keeper.cancel()
            await asyncio.wait(keepers)
        for keeper in keepers:
            if not keeper.cancelled():
                keeper.result()

    async def _keep(self, name: str, role: str) -> None:
        """Fill one place of the group until it stops or this child has died too often."""
        started = self._started[name]
        while not self._stopping.is_set():
            child = Child(Begin(role, name, self._spec), self._launch(role), on_started=started.set)
            self._children[name] = child
            watching = asyncio.create_task(self._watch(child))
            try:
                code = await child.live()
            finally:
                watching.cancel()
                self._children.pop(name)
            if self._stopping.is_set():
                return
            forget_process(child.pid)
            if not started.is_set() and (child.refusal or code >= 0):
                # One that was killed meanwhile is a death like any other.
                raise ConfigError(child.refusal or f"{name} ended with code {code} before it had started")
            decision = self._supervision.on_death(name, now_ms=self._clock.monotonic_us() // 1000)
            if isinstance(decision, GiveUp):
                advice = f"{child.refusal or 'the log says why'}; nothing is lost, a repeat goes on where it stopped"
                raise Unavailable(f"{name} died {decision.deaths} times in 10 minutes", advice=advice)
            _log.warning("child died", child=name, code=code, text=child.refusal, restart_in_ms=decision.delay_ms)
            await self._clock.sleep_ms(decision.delay_ms)

    async def _watch(self, child: Child) -> None:
        """Kill a child that is there but does nothing: what it had under way goes to another, and counts against it.

        Unanswered probes are counted, not seconds: a main that was held up itself must not blame its children.
        """
        settings = self._spec.settings.main
        try:
            await asyncio.wait_for(child.started.wait(), settings.start_timeout_s)
        except TimeoutError:
            _log.error("child does not start and is killed", child=child.name, waited_s=settings.start_timeout_s)
            child.kill()
            return
        while not self._stopping.is_set():
            await self._clock.sleep_ms(round(PROBE_EVERY_S * 1000))
            child.unanswered = 0 if await child.probe() is not None else child.unanswered + 1
            if settings.stall_timeout_s and _silent_s(child) >= settings.stall_timeout_s:
                _log.error("child does not answer and is killed", child=child.name, silent_s=_silent_s(child))
                child.kill()
                return

    async def _end(self, *, grace_ms: int) -> None:
        self._stopping.set()
        main = self._main
        if main is None:
            return
        for child in list(self._children.values()):
            await child.halt(grace_ms=grace_ms)
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(self._wait_empty()), (grace_ms + KILL_AFTER_MS) / 1000)
        main.cancel()
        await asyncio.wait([main])

    async def _wait_empty(self) -> None:
        while self._children:
            await asyncio.wait([asyncio.create_task(child.ended.wait()) for child in self._children.values()])


def _silent_s(child: Child) -> float:
    return child.unanswered * (PROBE_EVERY_S + PROBE_TIMEOUT_S)
