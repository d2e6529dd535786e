"""A group in one process: the same services, joined by queues instead of sockets. It dies as a whole."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from gristmill.adapters.local_host.owners import new_owner
from gristmill.domain.front.health import ServiceHealth
from gristmill.engine.link import LocalLink
from gristmill.ports.clock import Clock
from gristmill.runtime.composition.assemble import assemble_dispatcher, assemble_engine
from gristmill.runtime.composition.members import DispatcherMember, Member, stop_all
from gristmill.runtime.composition.stores import OpenStore, Store
from gristmill.runtime.group.health_core import ChildState, decide_health
from gristmill.runtime.spec import GroupSpec

__all__ = ["SingleGroup"]


class SingleGroup:
    """A dispatcher and engines in this process; the same verbs as `processes.group.ProcessGroup`.

    Args:
        flows: flow name -> types of its generators in this group, for health.
    """

    def __init__(
        self, spec: GroupSpec, *, flows: Mapping[str, Sequence[str]], clock: Clock, open_store: OpenStore
    ) -> None:
        self._spec = spec
        self._flows = flows
        self._clock = clock
        self._open_store = open_store
        self._dispatcher: DispatcherMember | None = None
        self._members: list[Member] = []
        self._main: asyncio.Task[None] | None = None
        self._is_stopping = False

    async def start(self) -> None:
        """Start every service.

        Raises:
            ConfigError: a flow is not sound or a role is not played.
        """
        spec, link = self._spec, LocalLink()
        for _ in range(spec.settings.engine.count):
            owner = new_owner()
            engine = assemble_engine(spec, self._open(owner), owner=owner, link=link.engine_side())
            self._members.append(engine)
        owner = new_owner()
        self._dispatcher = assemble_dispatcher(spec, self._open(owner), owner=owner, link=link)
        self._members.append(self._dispatcher)
        for member in self._members:
            await member.start()
        self._main = asyncio.create_task(self._watch(), name="group")

    async def join(self) -> None:
        """Return when the group has stopped; raise what ended it otherwise."""
        if self._main is not None:
            await asyncio.wait([self._main])
            if not self._main.cancelled():
                self._main.result()

    async def drain(self) -> None:
        """Have nothing new claimed, and return as soon as nothing is under way."""
        self._is_stopping = True
        if self._dispatcher is not None:
            await self._dispatcher.drain()

    async def stop(self, *, is_hurried: bool = False) -> None:
        """Stop every service within its grace. Safe to call twice."""
        self._is_stopping = True
        settings = self._spec.settings
        grace_s = 0 if is_hurried else max(settings.dispatcher.grace_s, settings.engine.grace_s)
        members, self._members = self._members, []
        await stop_all(members, grace_ms=round(grace_s * 1000))
        if self._main is not None:
            self._main.cancel()
            await asyncio.wait([self._main])

    async def health(self) -> list[ServiceHealth]:
        """Return the health of each service."""
        return decide_health(
            [ChildState("dispatcher", "dispatcher"), ChildState("engine-1", "engine")],
            self._dispatcher.vitals() if self._dispatcher is not None else None,
            flows=self._flows,
            task_timeout_ms=round(self._spec.settings.engine.task_timeout_s * 1000),
            is_stopping=self._is_stopping,
        )

    def _open(self, owner: str) -> Store:
        return self._open_store(self._spec, self._clock, owner)

    async def _watch(self) -> None:
        joins = [asyncio.create_task(member.join()) for member in self._members]
        try:
            done, _ = await asyncio.wait(joins, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for join in joins:
                join.cancel()
        for join in done:
            join.result()
