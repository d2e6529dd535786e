"""Serves gRPC in the main process: the standard health service, reflection, and the servicers of flows.

Health is set from what the main process knows already, so a question for it waits for no engine, however busy.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

from gristmill.api.rpc.servicer import Servicer
from gristmill.domain.errors import ConfigError
from gristmill.domain.front.health import HealthReport

if TYPE_CHECKING:
    import grpc

__all__ = ["RpcServer", "is_grpc_installed"]

MESSAGE_BYTES_MAX = 128 * 1024 * 1024
KEEP_ALIVE_MS = 30_000
KEEP_ALIVE_TIMEOUT_MS = 5_000
STOP_S = 5.0
NEEDED = ("grpc", "grpc_health", "grpc_reflection")


def is_grpc_installed() -> bool:
    """Whether the extra `grpc` is there."""
    return all(find_spec(name) is not None for name in NEEDED)


class RpcServer:
    """One service; `start` and `stop` are safe to call twice.

    Args:
        address: `host:port`; port 0 takes any that is free.
        servicers: of flows.
    """

    def __init__(self, address: str, servicers: Sequence[Servicer] = ()) -> None:
        self._address = address
        self._servicers = tuple(servicers)
        self._server: grpc.aio.Server | None = None
        self._told: dict[str, bool] = {}
        self._health: object = None
        self.port = 0

    async def start(self) -> None:
        """Begin to answer.

        Raises:
            ConfigError: the address cannot be listened on.
        """
        if self._server is not None:
            return
        # Children are started by fork and exec; the library's own handlers of forks would only be in the way.
        os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
        import grpc
        from grpc_health.v1 import health, health_pb2, health_pb2_grpc
        from grpc_reflection.v1alpha import reflection

        server = grpc.aio.server(
            options=[
                ("grpc.max_receive_message_length", MESSAGE_BYTES_MAX),
                ("grpc.max_send_message_length", MESSAGE_BYTES_MAX),
                ("grpc.keepalive_time_ms", KEEP_ALIVE_MS),
                ("grpc.keepalive_timeout_ms", KEEP_ALIVE_TIMEOUT_MS),
                ("grpc.keepalive_permit_without_calls", 1),
                ("grpc.so_reuseport", 0),
            ],
            compression=grpc.Compression.Gzip,
        )
        self._health = health.aio.HealthServicer()
        health_pb2_grpc.add_HealthServicer_to_server(self._health, server)
        for servicer in self._servicers:
            servicer.add_to(server)
        names = [name for servicer in self._servicers for name in servicer.service_names]
        own = [health_pb2.DESCRIPTOR.services_by_name["Health"].full_name, reflection.SERVICE_NAME]
        reflection.enable_server_reflection((*own, *names), server)
        try:
            self.port = server.add_insecure_port(self._address)
        except RuntimeError as error:
            advice = "set grpc.port to another, or to 0 for any that is free"
            raise ConfigError("grpc.port cannot be listened on", value=self._address, advice=advice) from error
        await server.start()
        self._server = server

    async def tell(self, report: HealthReport) -> None:
        """Take over what is known of the group: one service name each, the empty one for the whole."""
        if self._server is None:
            return
        serving = {one.name: one.is_serving for one in report.services}
        serving[""] = not report.faults("ready")
        for name, is_serving in serving.items():
            if self._told.get(name) != is_serving:
                self._told[name] = is_serving
                await self._set(name, is_serving=is_serving)

    async def join(self) -> None:
        """Return when it has stopped."""
        if self._server is not None:
            await self._server.wait_for_termination()

    async def stop(self) -> None:
        """Say of everything that it no longer serves, and end within five seconds."""
        server, self._server = self._server, None
        if server is not None:
            for name in self._told:
                await self._set(name, is_serving=False)
            await asyncio.shield(server.stop(STOP_S))

    async def _set(self, name: str, *, is_serving: bool) -> None:
        from grpc_health.v1 import health_pb2

        status = health_pb2.HealthCheckResponse
        await self._health.set(name, status.SERVING if is_serving else status.NOT_SERVING)  # type: ignore[attr-defined]
