"""Everything that the main process serves beside the group: probes' knowledge, HTTP, and whatever else is set."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Protocol

from gristmill.api.rpc import RpcServer, is_grpc_installed
from gristmill.domain.errors import ConfigError
from gristmill.plans.registry import Registry
from gristmill.ports.clock import Clock
from gristmill.runtime.background import BackgroundService, Rhythm
from gristmill.runtime.background.credentials import CredentialRenewal
from gristmill.runtime.background.metrics import last_success_gauge
from gristmill.runtime.delivery import DeliveryFace
from gristmill.runtime.faces.board import HealthBoard
from gristmill.runtime.faces.greeting import Greet, greet
from gristmill.runtime.lag import LagFace
from gristmill.runtime.outbox import OutboxFace
from gristmill.runtime.retention import RetentionFace
from gristmill.runtime.settings_faces import CredentialsSection
from gristmill.runtime.spec import GroupSpec

__all__ = ["Face", "Faces", "RpcFace"]

ADDRESS_FILE = "grpc.address"


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


class RpcFace:
    """The gRPC server, which leaves its address beside the sockets of the group."""

    def __init__(self, server: RpcServer, address: Path, host: str) -> None:
        self._server = server
        self._address = address
        self._host = host

    async def start(self) -> None:
        """Begin to answer."""
        await self._server.start()
        self._address.write_text(f"{self._host}:{self._server.port}\n", encoding="utf-8")

    async def join(self) -> None:
        """Return when it has stopped."""
        await self._server.join()

    async def stop(self) -> None:
        """Stop it."""
        await self._server.stop()
        self._address.unlink(missing_ok=True)


class Faces:
    """Starts and stops the faces of a group together.

    Raises:
        ConfigError: an address cannot be listened on, or a service of a flow cannot be built.
    """

    def __init__(
        self, spec: GroupSpec, registry: Registry, board: HealthBoard, clock: Clock, *, greet: Greet = greet
    ) -> None:
        self._board = board
        self._faces: list[Face] = []
        self._main: asyncio.Task[None] | None = None
        outbox = OutboxFace(spec, clock) if spec.settings.log.backend != "sqlite" else None
        if outbox is not None:
            self._board.background += [outbox, outbox.reconciling]
            self._faces.append(outbox)
        if spec.settings.api.enabled:
            # Only here, since a web framework takes its time to import.
            from gristmill.runtime.faces.http import HttpFace

            unsent = outbox.count_unsent if outbox is not None else None
            self._faces.append(HttpFace(spec, registry, board, clock, greet=greet, unsent=unsent))
        if spec.settings.credentials.command:
            self._add_renewal(spec.settings.credentials, clock)
        lag = LagFace(spec, clock)
        self._board.background.append(lag.service)
        self._faces.append(lag)
        if spec.settings.store.retention.enabled:
            retention = RetentionFace(spec, clock)
            self._board.background.append(retention.service)
            self._faces.append(retention)
        if spec.settings.delivery.enabled:
            delivery = DeliveryFace(spec, clock)
            self._board.background.append(delivery.service)
            self._faces.append(delivery)
        if spec.settings.grpc.enabled != "off":
            self._add_rpc(spec, registry)

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

    def _add_rpc(self, spec: GroupSpec, registry: Registry) -> None:
        section = spec.settings.grpc
        services = [service for flow in registry.flows for service in flow.services]
        if not is_grpc_installed():
            if section.enabled == "on" or services:
                raise ConfigError("gRPC is not installed", advice="pip install 'gristmill[grpc]', or grpc.enabled=off")
            return
        server = RpcServer(f"{section.host}:{section.port}", [service.build() for service in services])
        self._board.listeners.append(server.tell)
        self._faces.append(RpcFace(server, spec.folder.run_dir / ADDRESS_FILE, section.host))

    def _add_renewal(self, section: CredentialsSection, clock: Clock) -> None:
        renewal = CredentialRenewal(section.command, key_file=section.key_file, token_file=section.token_file)
        rhythm = Rhythm(
            interval_ms=round(section.interval_s * 1000),
            attempts=section.attempts,
            retry_interval_ms=round(section.retry_interval_s * 1000),
        )
        gauge = last_success_gauge()
        service = BackgroundService(
            "credentials",
            renewal.run_once,
            rhythm=rhythm,
            clock=clock,
            on_success=lambda at_ms: gauge.labels("credentials").set(at_ms / 1000),
        )
        self._board.background.append(service)
        self._faces.append(service)

    async def _run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._board.run())
            for face in self._faces:
                tasks.create_task(face.join())
