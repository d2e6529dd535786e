"""One place in the group: the child that fills it now, and its successors."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

import structlog

from gristmill.runtime.group.health_core import Vitals
from gristmill.runtime.processes.channel import (
    Begin,
    Channel,
    Drain,
    Drained,
    Halt,
    Message,
    Probe,
    Probed,
    Refused,
    Started,
)
from gristmill.runtime.processes.launch import Launched

__all__ = ["PROBE_TIMEOUT_S", "Child", "Launch"]

PROBE_TIMEOUT_S = 1.0
"""A child that does not answer in this time does not serve."""

Launch = Callable[[str], Launched]

_log = structlog.get_logger()


class Child:
    """A process with its channel. Made anew for each start of it.

    Args:
        on_started: called when it does its work.

    Attributes:
        unanswered: probes of its watcher in a row that it has not answered; an answer that comes late is one, too.
    """

    def __init__(self, begin: Begin, launched: Launched, *, on_started: Callable[[], None]) -> None:
        self._on_started = on_started
        self.name = begin.name
        self.role = begin.role
        self._begin = begin
        self._launched = launched
        self._channel: Channel | None = None
        self._answers: dict[int, asyncio.Future[Vitals]] = {}
        self._probe_count = 0
        self.unanswered = 0
        self._drained = asyncio.Event()
        self.started = asyncio.Event()
        self.ended = asyncio.Event()
        self.refusal = ""

    @property
    def pid(self) -> int:
        return self._launched.process.pid

    async def live(self) -> int:
        """Begin, listen to the child until it has ended, and return its exit code. Cancelled, it kills the child."""
        self._channel = await Channel.open(self._launched.end)
        listening = asyncio.create_task(self._listen(self._channel))
        try:
            await self._channel.send(self._begin)
            code = await self._launched.wait_dead()
            # What the child said last is still in the socket.
            with suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(listening), PROBE_TIMEOUT_S)
            return code
        finally:
            self._launched.kill()
            listening.cancel()
            await asyncio.wait([listening])
            self._drained.set()
            self.ended.set()
            self._channel.close()

    async def probe(self) -> Vitals | None:
        """Ask how it is; None when it does not answer in time."""
        if not self.started.is_set():
            return None
        self._probe_count += 1
        number = self._probe_count
        answer = asyncio.get_running_loop().create_future()
        self._answers[number] = answer
        try:
            await self._send(Probe(number))
            return await asyncio.wait_for(answer, PROBE_TIMEOUT_S)
        except TimeoutError:
            return None
        finally:
            del self._answers[number]

    async def drain(self) -> None:
        """Tell it to take nothing new, and return when nothing is under way or it has ended."""
        await self._send(Drain())
        await self._drained.wait()

    async def halt(self, *, grace_ms: int) -> None:
        """Tell it to stop; `live` returns when it has."""
        await self._send(Halt(grace_ms))

    def kill(self) -> None:
        """End it at once."""
        self._launched.kill()

    async def _send(self, message: Message) -> None:
        if self._channel is not None:
            await self._channel.send(message)

    async def _listen(self, channel: Channel) -> None:
        while (message := await channel.receive()) is not None:
            match message:
                case Started():
                    self.started.set()
                    self._on_started()
                case Refused(text=text):
                    self.refusal = text
                case Drained():
                    self._drained.set()
                case Probed(number=number, vitals=vitals):
                    # Slow is not dead: whoever answers at all, however late, is at work.
                    self.unanswered = 0
                    answer = self._answers.get(number)
                    if answer is not None and not answer.done():
                        answer.set_result(vitals)
                case _:
                    _log.warning("child says something odd", child=self.name, message=type(message).__name__)
