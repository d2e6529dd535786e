"""Numbered records through `gristmill up` while it is hurt again and again; in the end each must have been done once.

That is: one item and one run for each, no dead letter, and a history without anomalies: nothing lost, no double effect,
no stale write, no gap, no immortal. A record is appended once, whatever happens to the calls of whoever appends it.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.recording import HistoryEvent, HistoryRecorder, read_history
from gristmill.adapters.sqlite import SqliteStore
from gristmill.domain.errors import Unavailable
from gristmill.testing.crash.audit import judge, record_crash
from gristmill.testing.crash.cycles.grounds import GROUP, LEASE_MS, TOPIC, Ground, LogKind, open_ground
from gristmill.testing.crash.cycles.hurts import WEIGHTS, Hurt
from gristmill.testing.crash.cycles.starting import make_record, start_group
from gristmill.testing.crash.processes import choose_pids, descendants, kill_hard, wait_gone

__all__ = ["Outcome", "run_cycles"]

FREEZE_S = LEASE_MS * 2 / 1_000
STALL_S = 4.0
SERVER_AWAY_S = 1.0
STEAL_S = 12.0
PAUSES_S = (0.2, 1.5)
"""Shortest and longest time to the next hurt, once the group has got on again."""

BATCH = 10
SHARE_S = 2.5
"""The records of a cycle are appended within this time, so that some are under way whenever the hurt comes."""

WAITED_S_MAX = 90.0
STOPPED_WITHIN_S = 90.0
"""A process of the group may be starting just then, and on a busy machine that alone takes half a minute."""

ORPHANS_GONE_S = 15.0
DUMPED_WITHIN_S = 2.0

Tell = Callable[[str], None]


class Outcome(msgspec.Struct, frozen=True):
    """What the cycles came to; clean when there are no faults.

    Attributes:
        hurts: what was done, and how often.
        redelivered: deliveries beyond the first of a record: what the hurts really interrupted.
    """

    log: LogKind
    cycles: int
    records: int
    seed: int
    seconds: float
    hurts: dict[str, int]
    redelivered: int
    faults: tuple[str, ...]


class _Wedge(Exception):
    """The group does not get on."""


def run_cycles(
    folder: Path,
    *,
    log: LogKind,
    cycles: int,
    records: int,
    seed: int,
    program: str = "",
    tell: Tell = lambda _: None,
) -> Outcome:
    """Hurt a group `cycles` times while it works, let it finish, and judge what it left in `folder`.

    Args:
        records: in all, spread evenly over the cycles.
        program: the Redis server to start; empty takes the first that is found.
        tell: gets a line for each cycle.
    """

    async def run() -> Outcome:
        ground = open_ground(log, folder, program=program)
        try:
            loop = _Cycles(folder, ground, chance=random.Random(seed), tell=tell)
            began = time.monotonic()
            faults, redelivered = await loop.run(cycles, records)
            seconds = round(time.monotonic() - began, 1)
        finally:
            await ground.close()
        return Outcome(log, cycles, loop.appended, seed, seconds, loop.hurts, redelivered, tuple(faults))

    folder.mkdir(parents=True, exist_ok=True)
    return asyncio.run(run())


class _Cycles:
    def __init__(self, folder: Path, ground: Ground, *, chance: random.Random, tell: Tell) -> None:
        self.appended = 0
        self.hurts: dict[str, int] = {}
        self._folder = folder
        self._ground = ground
        self._chance = chance
        self._tell = tell
        self._history = folder / "history.jsonl"
        self._recorder = HistoryRecorder(self._history, process="crash-loop", clock=SystemClock())
        self._offsets: list[int] = []
        self._group: subprocess.Popen[bytes] | None = None
        self._ended_count = 0
        self._faults: list[str] = []

    async def run(self, cycles: int, records: int) -> tuple[list[str], int]:
        """Return the faults and how many deliveries were not the first."""
        self._start()
        try:
            for number in range(1, cycles + 1):
                await self._cycle(number, upto=records * number // cycles)
            await self._until(lambda left: left == 0, "end of all records")
        except _Wedge as wedge:
            self._faults.append(str(wedge))
            self._dump()
        finally:
            await self._stop()
        events = read_history(self._history)
        self._faults += await self._judge(events)
        delivered = [event.place for event in events if event.kind == "deliver"]
        return self._faults, len(delivered) - len(set(delivered))

    async def _cycle(self, number: int, *, upto: int) -> None:
        feeding = asyncio.create_task(self._feed(upto))
        try:
            await self._until_progress()
            await asyncio.sleep(self._chance.uniform(*PAUSES_S))
            hurts = self._ground.hurts
            [hurt] = self._chance.choices(hurts, [WEIGHTS[one] for one in hurts])
            self.hurts[hurt] = self.hurts.get(hurt, 0) + 1
            self._tell(f"{number}: {hurt}, {self.appended} records, {self._ended_count} ended")
            await self._hurt(hurt)
            await asyncio.wait_for(feeding, WAITED_S_MAX)
        except TimeoutError:
            raise _Wedge(f"wedge: nothing can be appended for {WAITED_S_MAX:.0f} s") from None
        finally:
            feeding.cancel()

    async def _feed(self, upto: int) -> None:
        """Append numbers; a batch whose answer is missing is appended again under the same token."""
        pause_s = SHARE_S * BATCH / max(BATCH, upto - self.appended)
        while self.appended < upto:
            numbers = range(self.appended, min(self.appended + BATCH, upto))
            try:
                self._offsets += await self._ground.append_once(
                    [make_record(number) for number in numbers], token=f"feed-{numbers.start}"
                )
                self.appended = numbers.stop
            except Unavailable:
                await asyncio.sleep(self._ground.look_again_s)
            await asyncio.sleep(pause_s)

    def _start(self) -> None:
        self._group = start_group(self._folder, self._ground, history=self._history)

    async def _hurt(self, hurt: Hurt) -> None:
        kind, _, part = hurt.partition(" ")
        proxy = self._ground.proxy
        match kind:
            case "kill" if part == "server":
                await self._ground.restart_server(away_s=SERVER_AWAY_S)
            case "kill":
                await self._kill(part)
            case "freeze":
                await self._freeze(part)
            case "cut" if proxy is not None:
                proxy.cut()
            case "stall" if proxy is not None:
                proxy.stall(is_stalled=True)
                await asyncio.sleep(STALL_S)
                proxy.stall(is_stalled=False)
        self._start_again_if_ended()

    def _start_again_if_ended(self) -> None:
        if self._main.poll() is not None:
            self._start()

    @property
    def _main(self) -> subprocess.Popen[bytes]:
        assert self._group is not None
        return self._group

    async def _kill(self, part: str) -> None:
        main = self._main
        family = [main.pid, *descendants(main.pid)]
        pids = choose_pids(main.pid, part)  # type: ignore[arg-type]
        kill_hard(pids)
        record_crash(self._history, pids)
        if main.pid in pids:
            main.wait()
            for pid in family:
                if not await asyncio.to_thread(wait_gone, pid, timeout_s=ORPHANS_GONE_S):
                    self._faults.append(f"orphan: process {pid} outlived its main")
            record_crash(self._history, family)

    async def _freeze(self, part: str) -> None:
        pids = choose_pids(self._main.pid, part)  # type: ignore[arg-type]
        _send(pids, signal.SIGSTOP)
        try:
            await asyncio.sleep(FREEZE_S)
            if part == "group":
                # Whoever wakes up afterwards is late. A frozen writer may have the turn: then the thief has to wait.
                stealing = asyncio.create_task(self._ground.steal())
                await asyncio.wait([stealing], timeout=STEAL_S)
        finally:
            _send(pids, signal.SIGCONT)
        if part == "group":
            with suppress(Unavailable):
                await stealing

    async def _until_progress(self) -> None:
        """Wait until records have ended since the last hurt: a group that only ever starts would prove nothing."""
        began = self._ended_count
        await self._until(lambda left: len(self._offsets) - left > began, "progress")

    async def _until(self, is_it: Callable[[int], bool], what: str) -> None:
        deadline = time.monotonic() + WAITED_S_MAX
        while time.monotonic() < deadline:
            with suppress(Unavailable):
                for offset in await self._ground.read_progress():
                    self._recorder.record("commit", topic=TOPIC, group=GROUP, offset=offset)
                lag = await self._ground.log.lag(TOPIC, GROUP)
                left = lag.undelivered + lag.in_flight + lag.waiting
                self._ended_count = len(self._offsets) - left
                if self._offsets and is_it(left):
                    return
            self._start_again_if_ended()
            await asyncio.sleep(self._ground.look_again_s)
        raise _Wedge(f"wedge: no {what} within {WAITED_S_MAX:.0f} s")

    async def _stop(self) -> None:
        main = self._main
        if main.poll() is not None:
            return
        main.send_signal(signal.SIGTERM)
        try:
            await asyncio.to_thread(main.wait, STOPPED_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._faults.append(f"wedge: the group does not stop within {STOPPED_WITHIN_S:.0f} s")
            self._dump()
            main.wait()

    def _dump(self) -> None:
        """Have every process write where each of its threads stands, and end it."""
        family = [self._main.pid, *descendants(self._main.pid)]
        for pid in reversed(family):
            _send([pid], signal.SIGABRT)
            wait_gone(pid, timeout_s=DUMPED_WITHIN_S)
        kill_hard(family)

    async def _list_published(self) -> list[int]:
        deadline = time.monotonic() + WAITED_S_MAX
        while True:
            try:
                return await self._ground.list_published(self._offsets)
            except Unavailable:
                # A server that was killed in the last cycle may not be itself again.
                if time.monotonic() > deadline:
                    raise
                await asyncio.sleep(self._ground.look_again_s)

    async def _judge(self, events: list[HistoryEvent]) -> list[str]:
        store = SqliteStore.open(
            self._folder / "state" / "gristmill.sqlite",
            clock=SystemClock(),
            owner="audit:0:0",
            is_log_apart=self._ground.is_log_apart,
        )
        counts = await store.state.counts()
        await store.close()
        published = await self._list_published()
        wanted = {"items": self.appended, "runs": len(published), "runs.done": len(published)}
        faults = [
            f"{name}: {counts.get(name, 0)} instead of {count}"
            for name, count in wanted.items()
            if counts.get(name, 0) != count
        ]
        part = self._ground.part
        records = [
            part(HistoryEvent(kind="publish", at_ms=0, topic=TOPIC, offset=offset)).record for offset in published
        ]
        finished = {(topic, GROUP) for topic, _ in records}
        bounds = msgspec.structs.replace(self._ground.bounds, is_log_apart=self._ground.is_log_apart)
        return faults + judge([part(event) for event in events], records, finished, bounds=bounds)


def _send(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)
