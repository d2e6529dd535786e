"""Numbered records through `gristmill up` with its log on Redis, while processes, connections and the server are hurt.

A record is appended once, whatever happens to the feeder's calls. In the end each must have been done once: one item,
one run, no dead letter, and a history without anomalies.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal, get_args

import msgspec

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.recording import read_history
from gristmill.adapters.redis import RedisLog, RedisServer, RedisTarget
from gristmill.adapters.sqlite import SqliteStore
from gristmill.domain.errors import Unavailable
from gristmill.domain.log import NewRecord
from gristmill.testing.crash.audit import judge, record_crash
from gristmill.testing.crash.processes import choose_pids, descendants, kill_hard, wait_gone
from gristmill.testing.cut_proxy import CutProxy
from gristmill.testing.history import Bounds
from gristmill.testing.redis_server import RedisProcess

__all__ = ["HURTS", "Hurt", "Outcome", "run_cycles"]

Hurt = Literal[
    "kill engine",
    "kill dispatcher",
    "kill main",
    "kill group",
    "kill server",
    "freeze engine",
    "freeze group",
    "cut",
    "stall",
]
HURTS: tuple[Hurt, ...] = get_args(Hurt)
"""`freeze` lasts twice the lease; while a group is frozen somebody else claims what it holds. `stall` leaves
connections open and passes nothing on."""

TOPIC = "numbered"
GROUP = "numbered.numbered"
LEASE_MS = 1_500
STALL_S = 4.0
SERVER_AWAY_S = 1.0
PAUSES_S = (0.3, 1.5)
"""Shortest and longest time to the next hurt, once the group has got on again."""

BATCH = 10
BOUNDS = Bounds(attempts_max=12, reclaim_ms=20_000, wedge_ms=30_000)
"""Deliveries without bound but chance, so that no record is given up; a lease, a restart and its imports."""

WAITED_S_MAX = 60.0
STOPPED_WITHIN_S = 90.0
"""A process of the group may be starting just then, and on a busy machine that alone takes half a minute."""

LOOK_AGAIN_S = 0.05


class Outcome(msgspec.Struct, frozen=True):
    """What the cycles came to; clean when there are no faults."""

    cycles: int
    records: int
    seconds: float
    hurts: dict[str, int]
    faults: tuple[str, ...]


def run_cycles(folder: Path, *, cycles: int, seed: int, per_s: int = 200, program: str = "") -> Outcome:
    """Hurt a group `cycles` times while it works, let it finish, and judge what it left in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    process = RedisProcess(folder / "redis", program=program)
    process.start()
    proxy = CutProxy(process.port)
    try:
        return asyncio.run(_Cycles(folder, process, proxy, seed=seed).run(cycles, per_s))
    finally:
        proxy.close()
        process.stop()


class _Cycles:
    def __init__(self, folder: Path, process: RedisProcess, proxy: CutProxy, *, seed: int) -> None:
        self._folder = folder
        self._process = process
        self._proxy = proxy
        self._chance = random.Random(seed)
        self._log = RedisLog(RedisServer(RedisTarget(url=process.url)), SystemClock())
        self._history = folder / "history.jsonl"
        self._offsets: list[int] = []
        self._group: subprocess.Popen[bytes] | None = None
        self._is_feeding = True
        self._ended_count = 0
        self._faults: list[str] = []

    async def run(self, cycles: int, per_s: int) -> Outcome:
        began = time.monotonic()
        hurts: dict[str, int] = {}
        self._start()
        feeding = asyncio.create_task(self._feed(per_s))
        try:
            for _ in range(cycles):
                await self._until_progress()
                await asyncio.sleep(self._chance.uniform(*PAUSES_S))
                hurt = self._chance.choice(HURTS)
                hurts[hurt] = hurts.get(hurt, 0) + 1
                await self._hurt(hurt)
            await self._until_progress()
            self._is_feeding = False
            await feeding
            await self._until(lambda left: left == 0, "done")
        finally:
            feeding.cancel()
            self._stop()
            await self._log.close()
        self._faults += await self._judge()
        return Outcome(cycles, len(self._offsets), time.monotonic() - began, hurts, tuple(self._faults))

    def _start(self) -> None:
        argv = [sys.executable, "-m", "gristmill", "up", "--topic", TOPIC, "--plan", "numbered", "--engines", "2"]
        argv += ["--flow", str(Path(__file__).with_name("numbered.py")), "--state", str(self._folder / "state")]
        with (self._folder / "group.log").open("ab") as log:
            self._group = subprocess.Popen(
                argv, env=self._environment(), stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )

    def _environment(self) -> Mapping[str, str]:
        return {
            **os.environ,
            "GRISTMILL_LOG__BACKEND": "redis",
            "GRISTMILL_LOG__URL": f"redis://127.0.0.1:{self._proxy.port}",
            "GRISTMILL_API__ENABLED": "false",
            "GRISTMILL_GRPC__ENABLED": "off",
            "GRISTMILL_FLOWS__ENABLED": "numbered",
            "GRISTMILL_DISPATCHER__LEASE_MS": str(LEASE_MS),
            "GRISTMILL_DISPATCHER__DELIVERIES_MAX": str(BOUNDS.attempts_max),
            "GRISTMILL_DISPATCHER__MONITOR_INTERVAL_S": "1",
            "GRISTMILL_STORE__HISTORY_FILE": str(self._history),
        }

    async def _feed(self, per_s: int) -> None:
        """Append numbers; a batch whose answer is missing is appended again under the same token."""
        while self._is_feeding:
            first = len(self._offsets)
            batch = [
                NewRecord(msgspec.json.encode({"id": f"n{number}", "text": f"number {number}"}))
                for number in range(first, first + BATCH)
            ]
            with suppress(Unavailable):
                self._offsets += await self._log.append_once(TOPIC, batch, token=f"feed-{first}", token_ms=3_600_000)
            await asyncio.sleep(BATCH / per_s)

    async def _hurt(self, hurt: Hurt) -> None:
        assert self._group is not None
        kind, _, part = hurt.partition(" ")
        match kind:
            case "kill" if part == "server":
                await asyncio.to_thread(self._process.kill)
                await asyncio.sleep(SERVER_AWAY_S)
                await asyncio.to_thread(self._process.start)
            case "kill":
                await self._kill(part)
            case "freeze":
                await self._freeze(part)
            case "cut":
                self._proxy.cut()
            case _:
                self._proxy.stall(is_stalled=True)
                await asyncio.sleep(STALL_S)
                self._proxy.stall(is_stalled=False)
        if self._group.poll() is not None:
            self._start()

    async def _kill(self, part: str) -> None:
        assert self._group is not None
        family = [self._group.pid, *descendants(self._group.pid)]
        pids = choose_pids(self._group.pid, part)  # type: ignore[arg-type]
        kill_hard(pids)
        record_crash(self._history, pids)
        if self._group.pid in pids:
            self._group.wait()
            for pid in family:
                if not await asyncio.to_thread(wait_gone, pid, timeout_s=15.0):
                    self._faults.append(f"orphan: process {pid} outlived its main")
            record_crash(self._history, family)

    async def _freeze(self, part: str) -> None:
        assert self._group is not None
        pids = choose_pids(self._group.pid, part)  # type: ignore[arg-type]
        _send(pids, signal.SIGSTOP)
        await asyncio.sleep(LEASE_MS * 2 / 1000)
        if part == "group":
            # Somebody else takes what has run out, and gives it back: whoever wakes up now is late.
            stolen = await self._log.claim(TOPIC, GROUP, owner="thief:0:0", limit=100, lease_ms=LEASE_MS)
            await self._log.release([one.lease for one in stolen], counted=False)
        _send(pids, signal.SIGCONT)

    async def _until_progress(self) -> None:
        """Wait until records have ended since the last hurt: a group that only ever starts would prove nothing."""
        began = self._ended_count
        await self._until(lambda left: len(self._offsets) - left > began, "progress")

    async def _until(self, is_it: Callable[[int], bool], what: str) -> None:
        deadline = time.monotonic() + WAITED_S_MAX
        while time.monotonic() < deadline:
            with suppress(Unavailable):
                lag = await self._log.lag(TOPIC, GROUP)
                left = lag.undelivered + lag.in_flight + lag.waiting
                self._ended_count = len(self._offsets) - left
                if self._offsets and is_it(left):
                    return
            assert self._group is not None
            if self._group.poll() is not None:
                self._start()
            await asyncio.sleep(LOOK_AGAIN_S)
        self._faults.append(f"wedge: no {what} within {WAITED_S_MAX:.0f} s")

    def _stop(self) -> None:
        if self._group is None:
            return
        family = [self._group.pid, *descendants(self._group.pid)]
        self._group.send_signal(signal.SIGTERM)
        try:
            self._group.wait(STOPPED_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._faults.append("wedge: the group does not stop")
            kill_hard(family)
            self._group.wait()

    async def _judge(self) -> list[str]:
        wanted = len(self._offsets)
        store = SqliteStore.open(
            self._folder / "state" / "gristmill.sqlite", clock=SystemClock(), owner="audit:0:0", is_log_apart=True
        )
        counts = await store.state.counts()
        await store.close()
        found = {name: counts.get(name, 0) for name in ("items", "runs", "runs.done")}
        faults = [f"{name}: {count} instead of {wanted}" for name, count in found.items() if count != wanted]
        published = [(TOPIC, offset) for offset in self._offsets]
        return faults + judge(
            read_history(self._history), published, {(TOPIC, GROUP)}, bounds=BOUNDS, is_log_apart=True
        )


def _send(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)
