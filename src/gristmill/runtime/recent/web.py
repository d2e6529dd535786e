"""The HTTP side of a role: probes, counters, and whatever the role answers; on a port of its own."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from pathlib import Path

from gristmill.api.app import FrontDesk, build_app
from gristmill.api.calls import Operation
from gristmill.runtime.faces.web import WebServer

__all__ = ["RoleWeb"]


class RoleWeb:
    """Serves operations and leaves its address beside the sockets of the group; safe to stop twice."""

    def __init__(
        self, services: FrontDesk, operations: Sequence[Operation], bound: socket.socket, *, address: Path
    ) -> None:
        self._web = WebServer(build_app(services, operations=operations), bound)
        self._address = address

    @property
    def url(self) -> str:
        """Where it is reached."""
        return self._web.url

    async def start(self) -> None:
        """Begin to answer."""
        await self._web.start()
        self._address.write_text(f"{self.url}\n", encoding="utf-8")

    async def join(self) -> None:
        """Return when it has stopped; raise what ended it otherwise."""
        await self._web.join()

    async def stop(self) -> None:
        """Finish the requests under way, and close the port."""
        await self._web.stop()
        self._address.unlink(missing_ok=True)
