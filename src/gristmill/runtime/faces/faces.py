"""Everything that the main process serves beside the group: probes' knowledge, HTTP, and whatever else is set."""

from __future__ import annotations

import asyncio
from typing import Protocol

from gristmill.plans.registry import Registry
from gristmill.ports.clock import Clock
from gristmill.runtime.faces.board import HealthBoard
from gristmill.runtime.spec import GroupSpec

__all__ = ["Face", "Faces"]


class Face(Protocol):
    """A service of the main process; `start` and `stop` are safe to call twice."""

    async def start(self) -> None:
        """Begin to serve."""
        ...

    async def join(self) -> None:
        """Return when it has stopped; raise what ended it otherwise."""
        ...

    async def stop(self) -> None:
        """Stop, and close what it holds."""
        ...


class Faces:
    """Starts and stops the faces of a group together.

    Raises:
        ConfigError: an address cannot be listened on, or a service of a flow cannot be built.
    """

    def __init__(self, spec: GroupSpec, registry: Registry, board: HealthBoard, clock: Clock) -> None:
        self._board = board
        self._faces: list[Face] = []
        self._main: asyncio.Task[None] | None = None
        if spec.settings.api.enabled:
            # Only here, since a web framework takes its time to import.
            from gristmill.runtime.faces.http import HttpFace

            self._faces.append(HttpFace(spec, registry, board, clock))

    async def start(self) -> None:
        """Start all of them."""
        if self._main is None:
            for face in self._faces:
                await face.start()
            self._main = asyncio.create_task(self._run(), name="faces")

    async def join(self) -> None:
        """Return when they have stopped; raise what ended one of them otherwise."""
        if self._main is not None:
            await asyncio.wait([self._main])
            if not self._main.cancelled():
                self._main.result()

    async def stop(self) -> None:
        """Stop all of them, the last first."""
        for face in reversed(self._faces):
            await face.stop()
        if self._main is not None:
            self._main.cancel()
            await asyncio.wait([self._main])

    async def _run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._board.run())
            for face in self._faces:
                tasks.create_task(face.join())
