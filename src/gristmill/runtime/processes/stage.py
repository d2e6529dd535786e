"""A child's service and the conversation about it with main."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import structlog

from gristmill.adapters.clock import SystemClock, SystemRandom
from gristmill.adapters.local_host import new_owner
from gristmill.engine.link_socket import SocketDispatcherLink, SocketEngineLink
from gristmill.runtime.composition.assemble import assemble_dispatcher, assemble_engine
from gristmill.runtime.composition.members import Member
from gristmill.runtime.composition.stores import open_store
from gristmill.runtime.garbage import collect_periodically, settle_heap
from gristmill.runtime.processes.channel import Begin, Channel, Drain, Drained, Halt, Probe, Probed
from gristmill.runtime.processes.switching import give_way, switch_often

__all__ = ["LINK_SOCKET", "Stage"]

LINK_SOCKET = "link"
EXIT_STOPPED = 0
EXIT_FAILED = 1

_log = structlog.get_logger()


class Stage:
    """Holds one service of the group in this process.

    Raises:
        ConfigError: the service cannot be built.
        Unavailable: the store cannot be opened.
    """

    def __init__(self, begin: Begin) -> None:
        self._settings = begin.spec.settings
        self._clock = SystemClock()
        self._is_halting = False
        owner = new_owner()
        store = open_store(begin.spec, self._clock, owner)
        path = begin.spec.folder.socket(LINK_SOCKET)
        self.member: Member
        if begin.role == "dispatcher":
            self.member = assemble_dispatcher(begin.spec, store, owner=owner, link=SocketDispatcherLink(path))
        else:
            link = SocketEngineLink(path, self._clock)
            self.member = assemble_engine(begin.spec, store, owner=owner, link=link)
        settle_heap()
        switch_often()
        give_way(self._settings.main.children_nice)

    async def play(self, channel: Channel) -> int | None:
        """Do what main says until it says stop; return the exit code, or None when main is gone."""
        section = self._settings.main
        collecting = asyncio.create_task(
            collect_periodically(
                self._clock, SystemRandom(), interval_s=section.gc_interval_s, jitter_s=section.gc_jitter_s
            )
        )
        joining = asyncio.create_task(self.member.join())
        obeying = asyncio.create_task(self._obey(channel))
        try:
            await asyncio.wait([joining, obeying], return_when=asyncio.FIRST_COMPLETED)
            if obeying.done() or self._is_halting:
                return await obeying
            error = joining.exception()
            _log.error("service ended by itself", error=repr(error), exc_info=error)
            return EXIT_FAILED
        finally:
            for task in (collecting, joining, obeying):
                task.cancel()
            await asyncio.wait([collecting, joining, obeying])

    async def _obey(self, channel: Channel) -> int | None:
        draining: asyncio.Task[None] | None = None
        while (message := await channel.receive()) is not None:
            match message:
                case Probe(number=number):
                    await channel.send(Probed(number, self.member.vitals()))
                case Drain():
                    draining = draining or asyncio.create_task(self._drain(channel))
                case Halt(grace_ms=grace_ms):
                    self._is_halting = True
                    if draining is not None:
                        draining.cancel()
                        with suppress(asyncio.CancelledError):
                            await draining
                    await self.member.stop(grace_ms=grace_ms)
                    return EXIT_STOPPED
                case _:
                    _log.warning("main says something odd", message=type(message).__name__)
        return None

    async def _drain(self, channel: Channel) -> None:
        await self.member.drain()
        await channel.send(Drained())
