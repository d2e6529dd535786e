"""gRPC: health as the main process knows it, reflection, and servicers that flows bring."""

from collections.abc import AsyncIterator, Sequence
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from gristmill.api.rpc import RpcServer
from gristmill.domain.errors import ConfigError
from gristmill.domain.front.health import HealthReport, ServiceHealth

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


class Echo:
    """A servicer without generated code: bytes in, the same bytes out."""

    service_names: Sequence[str] = ("test.Echo",)

    def add_to(self, server: Any) -> None:
        async def say(request: bytes, _: Any) -> bytes:
            return request

        handler = grpc.unary_unary_rpc_method_handler(say)
        server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("test.Echo", {"Say": handler})])


@pytest.fixture
async def server() -> AsyncIterator[RpcServer]:
    made = RpcServer("127.0.0.1:0", [Echo()])
    await made.start()
    await made.start()
    yield made
    await made.stop()
    await made.stop()


@pytest.fixture
async def channel(server: RpcServer) -> AsyncIterator[Any]:
    options = [("grpc.max_receive_message_length", 64 * 1024 * 1024), ("grpc.max_send_message_length", -1)]
    async with grpc.aio.insecure_channel(f"127.0.0.1:{server.port}", options=options) as opened:
        yield opened


async def test_health_is_what_was_told(server: RpcServer, channel: Any) -> None:
    stub = health_pb2_grpc.HealthStub(channel)

    async def check(service: str) -> int:
        answer = await stub.Check(health_pb2.HealthCheckRequest(service=service), timeout=10)
        return int(answer.status)

    await server.tell(HealthReport("serving", (ServiceHealth(""), ServiceHealth("engine"))))
    assert [await check(name) for name in ("", "engine")] == [SERVING, SERVING]
    await server.tell(HealthReport("serving", (ServiceHealth("", ("x",)), ServiceHealth("engine", ("x",)))))
    assert [await check(name) for name in ("", "engine")] == [NOT_SERVING, NOT_SERVING]
    await server.tell(HealthReport("stopping", (ServiceHealth(""), ServiceHealth("engine"))))
    assert [await check(name) for name in ("", "engine")] == [NOT_SERVING, SERVING]


async def test_a_watch_hears_of_every_change(server: RpcServer, channel: Any) -> None:
    watching = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest(service="flow"), timeout=10)
    heard = [(await watching.read()).status]
    for reasons in ((), ("down",)):
        await server.tell(HealthReport("serving", (ServiceHealth(""), ServiceHealth("flow", reasons))))
        heard.append((await watching.read()).status)
    assert heard == [health_pb2.HealthCheckResponse.SERVICE_UNKNOWN, SERVING, NOT_SERVING]
    watching.cancel()


async def test_reflection_lists_health_and_the_services_of_flows(channel: Any) -> None:
    stub = reflection_pb2_grpc.ServerReflectionStub(channel)
    request = reflection_pb2.ServerReflectionRequest(list_services="")
    listed = [name.name async for one in stub.ServerReflectionInfo(iter([request])) for name in services(one)]
    assert {"grpc.health.v1.Health", "test.Echo"} <= set(listed)


def services(answer: Any) -> Any:
    return answer.list_services_response.service


async def test_a_servicer_of_a_flow_takes_large_messages(channel: Any) -> None:
    large = b"x" * (16 * 1024 * 1024)
    assert await channel.unary_unary("/test.Echo/Say")(large, timeout=30) == large


async def test_a_port_in_use_keeps_it_from_starting(server: RpcServer) -> None:
    with pytest.raises(ConfigError, match=r"grpc.port"):
        await RpcServer(f"127.0.0.1:{server.port}").start()
