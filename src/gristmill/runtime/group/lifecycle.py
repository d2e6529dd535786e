"""From start to shutdown of a group: signals, the drain, and the grace.

first SIGINT or SIGTERM     nothing new is claimed; what is under way may finish within `shutdown_drain_timeout_s`
then                        every process stops within its grace; what is unfinished is delivered again one day
second                      the drain is cut short and nobody is waited for
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, Protocol

from gristmill.domain.front.health import ServiceHealth
from gristmill.engine.wake import wait_first
from gristmill.ports.clock import Clock
from gristmill.runtime.folder import StateFolder
from gristmill.runtime.group.health import CONTROL_SOCKET, HealthServer

__all__ = ["Group", "StopSignals", "serve", "shut_down"]


class Group(Protocol):
    """A dispatcher and engines, in one process or in many."""

    async def start(self) -> None:
        """Return when every service has started, or raise why one cannot."""
        ...

    async def join(self) -> None:
        """Return when the group has stopped; raise what ended it otherwise."""
        ...

    async def drain(self) -> None:
        """Have nothing new claimed, and return as soon as nothing is under way."""
        ...

    async def stop(self, *, is_hurried: bool = False) -> None:
        """Stop every service within its grace, or at once."""
        ...

    async def health(self) -> list[ServiceHealth]:
        """Return the health of each service."""
        ...


class StopSignals:
    """SIGINT and SIGTERM of the main process: the first asks to stop, the second to hurry."""

    def __init__(self) -> None:
        self.first = asyncio.Event()
        self.second = asyncio.Event()

    def install(self) -> None:
        """React in the running loop from now on."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.note)

    def note(self) -> None:
        """Take one signal."""
        (self.second if self.first.is_set() else self.first).set()


async def serve(
    group: Group,
    work: Coroutine[Any, Any, object],
    *,
    signals: StopSignals,
    clock: Clock,
    folder: StateFolder,
    drain_timeout_s: float,
) -> bool:
    """Start a group, let it work until `work` is done or a signal asks to stop, and shut it down.

    Its health can be asked all the while over the control socket of the state folder.

    Returns:
        Whether `work` was done.
    Raises:
        ConfigError: the group could not start.
        Unavailable: the group has given up.
    """
    server = HealthServer(folder.socket(CONTROL_SOCKET), group.health)
    await server.start()
    try:
        return await _work(group, work, signals=signals)
    finally:
        await shut_down(group, signals=signals, clock=clock, drain_timeout_s=drain_timeout_s)
        await server.stop()


async def _work(group: Group, work: Coroutine[Any, Any, object], *, signals: StopSignals) -> bool:
    working, asked = asyncio.create_task(work), asyncio.create_task(signals.first.wait())
    starting = asyncio.create_task(group.start())
    failing: asyncio.Task[None] | None = None
    try:
        # Work may begin before the group has started: a file is read meanwhile.
        await asyncio.wait([starting, asked], return_when=asyncio.FIRST_COMPLETED)
        if starting.done():
            starting.result()
            failing = asyncio.create_task(group.join())
            await asyncio.wait([working, asked, failing], return_when=asyncio.FIRST_COMPLETED)
            for task in (failing, working):
                if task.done():
                    task.result()
        return working.done()
    finally:
        await _cancel(working, asked, starting, *([failing] if failing else []))


async def shut_down(group: Group, *, signals: StopSignals, clock: Clock, drain_timeout_s: float) -> None:
    """Drain and stop a group."""
    await wait_first(group.drain(), clock.sleep_ms(round(drain_timeout_s * 1000)), signals.second.wait())
    if signals.second.is_set():
        await group.stop(is_hurried=True)
        return
    stopping, hurry = asyncio.create_task(group.stop()), asyncio.create_task(signals.second.wait())
    await asyncio.wait([stopping, hurry], return_when=asyncio.FIRST_COMPLETED)
    if not stopping.done():
        await group.stop(is_hurried=True)
    await _cancel(hurry)
    await stopping


async def _cancel(*tasks: asyncio.Task[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
