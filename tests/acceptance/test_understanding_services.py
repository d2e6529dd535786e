"""Checks of the services in the main process: health over gRPC, background services, renewal of credentials."""

import asyncio
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from gristmill.adapters.clock import SystemClock
from gristmill.domain.errors import Unavailable
from gristmill.runtime.background import BackgroundService, Rhythm
from gristmill.testing.clock import FakeClock
from tests.commands import COMMAND, put, wait_until, write

HEALTH_MS_MAX = 50
"""What the check asks for; the cores are shared with whatever else runs, so nine in ten answers must keep it."""

BURNING_FLOW = '''
"""Each record burns a processor for twenty milliseconds."""
import time

from gristmill import Flow, Generator, Item, Plan, task


@task(attempts=1)
def burn(item: Item) -> None:
    until = time.perf_counter() + 0.02
    while time.perf_counter() < until:
        sum(range(500))


flow = Flow(
    "burning",
    plans=[Plan("burn", tasks=[burn])],
    generators=[Generator(type="burn", topic="burn", plans=("burn",))],
)
'''


@contextmanager
def burning(tmp_path: Path) -> Iterator[str]:
    """Start a group whose two engines burn both cores; gives the address of its gRPC server."""
    state, flow = tmp_path / "state", write(tmp_path / "burning.py", BURNING_FLOW)
    env = {**os.environ, "GRISTMILL_GRPC__PORT": "0", "GRISTMILL_API__ENABLED": "false"}
    process = subprocess.Popen(
        [*COMMAND, "up", "--flow", str(flow), "--state", str(state), "--engines", "2"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=env,
        start_new_session=True,
    )
    address = state / "run" / "grpc.address"
    try:
        wait_until(address.exists, "an address")
        yield address.read_text(encoding="utf-8").strip()
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


async def test_AC_UN_092_health_over_grpc_answers_while_the_engines_burn_both_cores(tmp_path: Path) -> None:
    clock = SystemClock()
    serving = health_pb2.HealthCheckResponse.SERVING
    await put(tmp_path / "state", "burn", [json.dumps(number) for number in range(3_000)])
    with burning(tmp_path) as address:
        async with grpc.aio.insecure_channel(address) as channel:
            stub = health_pb2_grpc.HealthStub(channel)

            async def check(service: str) -> int:
                try:
                    answer = await stub.Check(health_pb2.HealthCheckRequest(service=service))
                except grpc.aio.AioRpcError:
                    return -1  # Not known yet.
                return int(answer.status)

            services = ("", "dispatcher", "engine", "burning")
            for _ in range(200):
                if {await check(service) for service in services} == {serving}:
                    break
                await clock.sleep_ms(50)
            took_ms: list[float] = []
            for _ in range(40):
                for service in services:
                    began_us = clock.monotonic_us()
                    assert await check(service) == serving
                    took_ms.append((clock.monotonic_us() - began_us) / 1_000)
                await clock.sleep_ms(10)
            assert sorted(took_ms)[len(took_ms) * 9 // 10] < HEALTH_MS_MAX
            with pytest.raises(grpc.aio.AioRpcError):
                await stub.Check(health_pb2.HealthCheckRequest(service="nobody"))


async def test_AC_UN_091_a_renewal_that_fails_twice_is_tried_each_minute_and_then_each_hour() -> None:
    clock = FakeClock(is_jumping=True)
    began_ms = clock.now_ms()
    runs_s: list[int] = []
    done = asyncio.Event()

    async def renew() -> None:
        runs_s.append((clock.now_ms() - began_ms) // 1_000)
        if len(runs_s) == 4:
            done.set()
        if len(runs_s) <= 2:
            raise Unavailable("the command failed")

    service = BackgroundService("credentials", renew, rhythm=Rhythm(), clock=clock)
    await service.start()
    await done.wait()
    await service.stop()
    assert runs_s == [0, 60, 120, 3_720]
