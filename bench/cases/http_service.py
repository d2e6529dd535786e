"""A group as `gristmill up` starts it, asked over HTTP on this machine.

    publish.p99             one item at a time, 200 a second, while two engines work off a topic as fast as they can
    publish.slow_disk.p99   the same where every sync of every process of the group takes 4 ms longer
    publish.batch           a thousand items a call, one call after the other, an idle group beside
    score.p99               the plan `screen` over a text, 50 a second

Client and group share the processors, as they would on one small machine.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from cases.figure import Figure

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.local_host import new_owner
from gristmill.adapters.sqlite import SqliteStore
from gristmill.domain.log import NewRecord
from gristmill.testing.slow_disk import SyncTally, read_tallies, slow_disk_environment

PUBLISH_MS_MAX = 15.0
PUBLISH_SLOW_DISK_MS_MAX = 60.0
SLOW_DISK_MS = 4.0
SCORE_MS_MAX = 30.0
BATCH_ITEMS_PER_S_MIN = 20_000.0
LOAD_RECORDS = 400_000
BATCH_ITEMS = 1_000
TEXT = "A comment of the usual length, with a link to https://example.org/page and a word or two about the film."

LOAD_FLOW = """
from gristmill import Flow, Generator, Item, Plan, cell, task
import msgspec


@cell("echo")
class Echo(msgspec.Struct, frozen=True):
    text: str


@task
def echo(item: Item) -> Echo:
    return Echo(item.text)


flow = Flow(
    "load",
    plans=[Plan("echo", tasks=[echo])],
    generators=[Generator(type="load", topic="load", plans=("echo",))],
)
"""


def measure_publish(quick: bool) -> Figure:
    """Return the p99 in milliseconds."""
    return Figure(runs=(_publish_for(quick),), unit="ms p99", raw=PUBLISH_MS_MAX)


def measure_publish_slow_disk(quick: bool) -> Figure:
    """Return the p99 in milliseconds, after a look that every process of the group was in fact slowed down."""
    with tempfile.TemporaryDirectory(prefix="gristmill-bench-") as name:
        env = slow_disk_environment(os.environ, delay_ms=SLOW_DISK_MS, tallies=Path(name))
        value = _publish_for(quick, env)
        _check_all_slow(read_tallies(Path(name)), engines=2)
    return Figure(runs=(value,), unit="ms p99", raw=PUBLISH_SLOW_DISK_MS_MAX)


def _publish_for(quick: bool, env: Mapping[str, str] = os.environ) -> float:
    body = [_request("POST", "/v1/items", json.dumps({"id": f"i{number}", "text": TEXT})) for number in range(200 * 60)]

    async def measure() -> float:
        async with _group(load=LOAD_RECORDS // (4 if quick else 1), engines=2, env=env) as call:
            return await _at_rate(call, lambda number: body[number], per_s=200, seconds=3 if quick else 15)

    return asyncio.run(measure())


def _check_all_slow(tallies: Sequence[SyncTally], *, engines: int) -> None:
    """Refuse a figure of a group of which a process has synced nothing, or faster than the disk is said to be."""
    found = Counter(word for tally in tallies for word in ("dispatcher", "engine", "up") if word in tally.command)
    for tally in tallies:
        role = " ".join(word for word in ("dispatcher", "engine", "up") if word in tally.command)
        mean_ms, least_ms = tally.total_us / tally.syncs / 1_000, tally.least_us / 1_000
        print(f"{role}: {tally.syncs} syncs, {mean_ms:.1f} ms each, at least {least_ms:.1f} ms", file=sys.stderr)
        assert least_ms >= SLOW_DISK_MS, tally
    assert found == {"dispatcher": 1, "engine": engines, "up": 1}, found


def measure_batch(quick: bool) -> Figure:
    """Return items per second."""

    async def measure() -> float:
        count = 10 if quick else 60
        async with _group(load=0, engines=1, plan="echo") as call:
            lines = [
                "".join(json.dumps({"id": f"{batch}-{number}", "text": TEXT}) + "\n" for number in range(BATCH_ITEMS))
                for batch in range(count)
            ]
            requests = [_request("POST", "/v1/items:batch", text, kind="application/x-ndjson") for text in lines]
            began = time.perf_counter()
            for request in requests:
                await call(request)
            return count * BATCH_ITEMS / (time.perf_counter() - began)

    return Figure(runs=(asyncio.run(measure()),), unit="items/s", raw=BATCH_ITEMS_PER_S_MIN, less_is_better=False)


def measure_score(quick: bool) -> Figure:
    """Return the p99 in milliseconds."""
    request = _request("POST", "/v1/score", json.dumps({"item": {"text": TEXT}}))

    async def measure() -> float:
        async with _group(load=0, engines=1) as call:
            return await _at_rate(call, lambda number: request, per_s=50, seconds=3 if quick else 15)

    return Figure(runs=(asyncio.run(measure()),), unit="ms p99", raw=SCORE_MS_MAX)


Call = Callable[[bytes], "asyncio.Future[int]"]


@asynccontextmanager
async def _group(
    *, load: int, engines: int, plan: str = "screen", env: Mapping[str, str] = os.environ
) -> AsyncIterator[Call]:
    """Start a group, with so many records waiting for its engines; gives a function that sends a request."""
    clock = SystemClock()
    with tempfile.TemporaryDirectory(prefix="gristmill-bench-") as name:
        state, flow = Path(name) / "state", Path(name) / "load.py"
        flow.write_text(LOAD_FLOW, encoding="utf-8")
        if load:
            await _put_load(state, load)
        env = {**env, "GRISTMILL_API__PORT": "0", "GRISTMILL_GRPC__ENABLED": "off", "GRISTMILL_API__PLANS": plan}
        command = [sys.executable, "-m", "gristmill", "up", "--state", str(state), "--flow", str(flow)]
        process = _start([*command, "--engines", str(engines)], env)
        try:
            url, token = _read_greeting(process)
            client = _Client(int(url.rpartition(":")[2]), token)
            while await client.send(_request("GET", "/readyz")) != 200:
                await clock.sleep_ms(50)
            yield client.send  # type: ignore[misc]
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


async def _put_load(state: Path, count: int) -> None:
    store = SqliteStore.open(state / "gristmill.sqlite", clock=SystemClock(), owner=new_owner())
    for start in range(0, count, 5_000):
        await store.log.append(
            "load", [NewRecord(b'{"id": "r%d", "text": "load"}' % number) for number in range(start, start + 5_000)]
        )
    await store.close()


def _start(command: list[str], env: dict[str, str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env, start_new_session=True)


def _read_greeting(process: subprocess.Popen[bytes]) -> tuple[str, str]:
    assert process.stdout is not None
    url = re.findall(rb"http://\S+", process.stdout.readline())[0].decode()
    token = re.findall(rb"gm_\w+", process.stdout.readline())[0].decode()
    return url, token


def _request(method: str, path: str, body: str = "", *, kind: str = "application/json") -> bytes:
    content = body.encode()
    head = f"{method} {path} HTTP/1.1\r\nHost: bench\r\nContent-Type: {kind}\r\nContent-Length: {len(content)}\r\n"
    return head.encode() + b"%TOKEN%\r\n" + content


class _Client:
    """One connection at a time for each request under way; the least that speaks HTTP, so that it costs little."""

    def __init__(self, port: int, token: str) -> None:
        self._port = port
        self._header = f"Authorization: Bearer {token}\r\n".encode()
        self._idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def send(self, request: bytes) -> int:
        """Send a request and return the status of its answer."""
        reader, writer = self._idle.pop() if self._idle else await asyncio.open_connection("127.0.0.1", self._port)
        writer.write(request.replace(b"%TOKEN%", self._header, 1))
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(re.findall(rb"content-length: (\d+)", head)[0])
        await reader.readexactly(length)
        self._idle.append((reader, writer))
        return int(head[9:12])


async def _at_rate(call: Call, request: Callable[[int], bytes], *, per_s: int, seconds: int) -> float:
    """Send requests at a rate, whatever becomes of the earlier ones, and return the p99 in milliseconds."""
    took_ms: list[float] = []

    async def one(number: int, due: float) -> None:
        status = await call(request(number))
        took_ms.append((time.perf_counter() - due) * 1_000)
        assert status in (200, 202), status

    began = time.perf_counter()
    under_way: list[asyncio.Task[None]] = []
    for number in range(per_s * seconds):
        due = began + number / per_s
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        # From when it was due: a publisher that had to wait for its turn has waited too.
        under_way.append(asyncio.create_task(one(number, due)))
    await asyncio.gather(*under_way)
    return statistics.quantiles(took_ms, n=100)[98]
