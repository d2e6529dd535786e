"""Connections to the server of a log are cut under load: how soon a group goes on, and whether its probe is true.

`/readyz` is asked all the while. It tells the truth if it is not ready at some time while the server is away, ready
again soon after the group goes on, and ready all the rest of the time.
"""

from __future__ import annotations

import asyncio
import random
import subprocess
import time
import urllib.error
import urllib.request
from contextlib import suppress
from pathlib import Path

import msgspec

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.recording import HistoryEvent
from gristmill.domain.errors import Unavailable
from gristmill.testing.crash.cycles.grounds import LEASE_MS, Ground, LogKind, open_ground
from gristmill.testing.crash.cycles.starting import make_record, start_group
from gristmill.testing.crash.processes import descendants, kill_hard
from gristmill.testing.cut_proxy import CutProxy

__all__ = ["CutsOutcome", "run_cuts"]

PER_S = 100
BATCH = 5
BETWEEN_S = (0.5, 1.5)
AWAY_S = LEASE_MS * 3 / 1_000
"""How long the server is away in an outage; a group has to notice that."""

RESUMED_S_MAX = 60.0
STARTED_S_MAX = 90.0
STOPPED_S_MAX = 90.0
TRUTH_S = 5.0
"""How late a probe may say that all is well again, once the group goes on."""

LOOK_S = 0.05
PROBE_S = 0.1


class CutsOutcome(msgspec.Struct, frozen=True):
    """What the cuts came to; times in seconds from the cut, or from the end of an outage, to a record that was claimed
    afterwards and is done.

    Attributes:
        slowest_s: of all cuts; `median_s` likewise.
        outage_slowest_s: of the times when the server was away for a while, from its return.
        faults: what the probe said that was not so, or what never came back.
    """

    log: LogKind
    cuts: int
    outages: int
    records: int
    median_s: float
    slowest_s: float
    outage_slowest_s: float
    faults: tuple[str, ...]


def run_cuts(folder: Path, *, log: LogKind, cuts: int, outages: int, seed: int, program: str = "") -> CutsOutcome:
    """Cut all connections `cuts` times, and take the server away `outages` times, while records come in."""

    async def run() -> CutsOutcome:
        ground = open_ground(log, folder, program=program)
        proxy = ground.proxy
        assert proxy is not None, "a log without a server has no connections"
        try:
            watch = _Watch(folder, ground, proxy, chance=random.Random(seed))
            resumed_s, back_s = await watch.run(cuts, outages)
        finally:
            await ground.close()
        return CutsOutcome(
            log,
            len(resumed_s),
            len(back_s),
            watch.appended,
            round(sorted(resumed_s)[len(resumed_s) // 2], 2) if resumed_s else 0.0,
            round(max(resumed_s, default=0.0), 2),
            round(max(back_s, default=0.0), 2),
            tuple(watch.faults),
        )

    folder.mkdir(parents=True, exist_ok=True)
    return asyncio.run(run())


class _Watch:
    def __init__(self, folder: Path, ground: Ground, proxy: CutProxy, *, chance: random.Random) -> None:
        self.appended = 0
        self.faults: list[str] = []
        self._folder = folder
        self._ground = ground
        self._proxy = proxy
        self._clock = SystemClock()
        self._chance = chance
        self._history = folder / "history.jsonl"
        self._read_bytes = 0
        self._claimed_at_ms: dict[int, int] = {}
        self._newest_done_ms = 0
        self._probes: list[tuple[float, bool]] = []

    async def run(self, cuts: int, outages: int) -> tuple[list[float], list[float]]:
        """Return the times to the next record done: after cuts, after outages."""
        environment = {"GRISTMILL_API__ENABLED": "true", "GRISTMILL_API__PORT": "0"}
        group = start_group(self._folder, self._ground, history=self._history, environment=environment)
        watching = [asyncio.create_task(self._feed()), asyncio.create_task(self._probe())]
        try:
            await self._until_done_after(0, STARTED_S_MAX)
            await self._until_ready(STARTED_S_MAX)
            resumed_s = [await self._cut() for _ in range(cuts)]
            back_s = [await self._take_away() for _ in range(outages)]
        except TimeoutError as error:
            self.faults.append(f"wedge: {error}")
            return [], []
        finally:
            for task in watching:
                task.cancel()
            await _stop(group)
        return resumed_s, back_s

    async def _cut(self) -> float:
        await asyncio.sleep(self._chance.uniform(*BETWEEN_S))
        began = time.monotonic()
        self._proxy.cut()
        resumed_s = await self._until_done_after(self._clock.now_ms(), RESUMED_S_MAX)
        await self._until_ready(TRUTH_S)
        if time.monotonic() - began > TRUTH_S + resumed_s:
            self.faults.append("the probe was late to say that all is well")
        return resumed_s

    async def _take_away(self) -> float:
        await asyncio.sleep(self._chance.uniform(*BETWEEN_S))
        began = time.monotonic()
        self._proxy.stall(is_stalled=True)
        await asyncio.sleep(AWAY_S)
        if all(is_ready for at, is_ready in self._probes if at > began):
            self.faults.append(f"the probe said ready for {AWAY_S:.0f} s while the server was away")
        if self._probes[-1][1]:
            self.faults.append("the probe said ready at the end of an outage")
        self._proxy.stall(is_stalled=False)
        back_s = await self._until_done_after(self._clock.now_ms(), RESUMED_S_MAX)
        await self._until_ready(TRUTH_S)
        return back_s

    async def _feed(self) -> None:
        while True:
            numbers = range(self.appended, self.appended + BATCH)
            with suppress(Unavailable):
                await self._ground.append_once([make_record(one) for one in numbers], token=f"feed-{numbers.start}")
                self.appended = numbers.stop
            await asyncio.sleep(BATCH / PER_S)

    async def _until_done_after(self, at_ms: int, within_s: float) -> float:
        """Wait for a record that was claimed after a moment and is done; return how long that took."""
        began = time.monotonic()
        while self._newest_done_ms <= at_ms:
            if time.monotonic() - began > within_s:
                raise TimeoutError(f"no record is claimed and done within {within_s:.0f} s")
            await asyncio.sleep(LOOK_S)
            self._follow()
        return time.monotonic() - began

    def _follow(self) -> None:
        if not self._history.exists():
            return
        with self._history.open("rb") as file:
            file.seek(self._read_bytes)
            whole, end, _ = file.read().rpartition(b"\n")
        self._read_bytes += len(whole) + len(end)
        for line in whole.splitlines():
            event = msgspec.json.decode(line, type=HistoryEvent)
            if event.kind == "deliver":
                self._claimed_at_ms[event.offset] = event.at_ms
            elif event.kind == "accept":
                self._newest_done_ms = max(self._newest_done_ms, self._claimed_at_ms.pop(event.offset, 0))

    async def _until_ready(self, within_s: float) -> None:
        deadline = time.monotonic() + within_s
        while not self._probes or not self._probes[-1][1]:
            if time.monotonic() > deadline:
                raise TimeoutError(f"the probe does not say ready within {within_s:.0f} s though records are done")
            await asyncio.sleep(LOOK_S)

    async def _probe(self) -> None:
        while True:
            self._probes.append((time.monotonic(), await asyncio.to_thread(self._is_ready)))
            await asyncio.sleep(PROBE_S)

    def _is_ready(self) -> bool:
        try:
            address = (self._folder / "state" / "run" / "http.address").read_text(encoding="utf-8").strip()
            with urllib.request.urlopen(f"{address}/readyz", timeout=TRUTH_S) as answer:
                return bool(answer.status == 200)
        except (OSError, urllib.error.HTTPError):
            return False


async def _stop(group: subprocess.Popen[bytes]) -> None:
    family = [group.pid, *descendants(group.pid)]
    group.terminate()
    try:
        await asyncio.to_thread(group.wait, STOPPED_S_MAX)
    except subprocess.TimeoutExpired:
        kill_hard(family)
        group.wait()
