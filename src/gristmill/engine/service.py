"""The Engine: takes frames of leased records, drives their Runs, and commits what they came to.

    listen     frames from the dispatcher, over a link that may break and come back
    admit      decode, ids, Runs to do          frame k + 2
    execute    the plans themselves             frame k + 1
    write      commit, accept, report           frame k

Each stage works while the next one waits for the disk, one frame ahead and no more.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial

import structlog

from gristmill.domain.commit import Conflict
from gristmill.domain.errors import Unavailable, UsageError
from gristmill.domain.frame import EngineHello, Frame, FrameDone, RecordEnded
from gristmill.domain.log import Lease
from gristmill.engine.driver import Driver
from gristmill.engine.link import EngineLink
from gristmill.engine.marks import Marks, NoMarks
from gristmill.engine.metrics import EngineMetrics
from gristmill.engine.settings import EngineSettings
from gristmill.engine.wake import Wake, wait_first
from gristmill.engine.work.admit import Admission, Decode
from gristmill.engine.work.execute import Executor
from gristmill.engine.work.record import Work
from gristmill.engine.work.writeback import WriteBack
from gristmill.plans.plan import Generator
from gristmill.plans.registry import RegisteredPlan
from gristmill.plans.resources import Need
from gristmill.ports.clock import Clock
from gristmill.ports.ids import ItemIds
from gristmill.ports.log import Log
from gristmill.ports.state import State

__all__ = ["Engine"]

_log = structlog.get_logger()


class Engine:
    """One service; `start` and `stop` are safe to call twice.

    Args:
        owner: names this engine; records are leased in this name, so that its death frees them. New with every start of
            the process, and the owner that the process has registered with its store.
        plans: by plan key; only those of `generators` are made ready.
        resources: what fills each `Need` of those plans.
        ids: where item ids come from; it runs for as long as this engine does.
        decode: maps a record to the fields of an Item.
        marks: where it notes what it is working on.

    Raises:
        ConfigError: a resource of a plan is missing.
    """

    def __init__(
        self,
        *,
        link: EngineLink,
        state: State,
        log: Log,
        clock: Clock,
        ids: ItemIds,
        owner: str,
        generators: Sequence[Generator],
        plans: Mapping[str, RegisteredPlan],
        resources: Mapping[Need, object],
        decode: Decode,
        settings: EngineSettings,
        metrics: EngineMetrics,
        marks: Marks | None = None,
    ) -> None:
        used = {key: plans[key] for generator in generators for key in generator.plans}
        build = partial(Driver, resources=resources, clock=clock, environment=settings.environment)
        self._drivers = {key: build(plan) for key, plan in used.items()}
        self._link = link
        self._log = log
        self._clock = clock
        self._is_closing = False
        self._metrics = metrics
        self._hello = EngineHello(owner, settings.capacity)
        self._ids = ids
        self._admission = Admission(
            state=state,
            clock=clock,
            ids=ids,
            decode=decode,
            generators={generator.type: generator for generator in generators},
        )
        self._writeback = WriteBack(
            state=state,
            log=log,
            clock=clock,
            versions={key: plan.graph.version for key, plan in used.items()},
            metrics=metrics,
            report=self._report,
            rerun=self._rerun,
        )
        self._executor = Executor(
            self._drivers,
            clock=clock,
            marks=marks or NoMarks(),
            settings=settings,
            metrics=metrics,
            put=self._writeback.put,
            on_cancelled=self._on_cancelled,
        )
        self._frames: asyncio.Queue[tuple[Frame, int]] = asyncio.Queue()
        self._admitted: asyncio.Queue[Sequence[Work]] = asyncio.Queue(maxsize=1)
        self._connection = self._open_count = 0
        self._quiet = Wake()
        self._main: asyncio.Task[None] | None = None
        self.started = asyncio.Event()
        self.stop_requested = asyncio.Event()
        """Set when the dispatcher says that no more frames will come."""

    @property
    def open_count(self) -> int:
        """Records that were received and are not reported yet."""
        return self._open_count

    async def start(self) -> None:
        """Connect in the background and begin to work."""
        if self._main is None:
            self._main = asyncio.create_task(self._run(), name="engine")
            self.started.set()

    async def join(self) -> None:
        """Return when the service has stopped; raise what ended it otherwise."""
        if self._main is not None:
            await asyncio.wait([self._main])
            if not self._main.cancelled():
                self._main.result()

    async def stop(self, *, grace_ms: int = 0) -> None:
        """Begin nothing new, finish what is under way within `grace_ms`, cancel the rest, and end.

        What is not finished is neither committed nor reported: the end of the link hands it back, uncounted.
        """
        main = self._main
        if main is None:
            return
        self._is_closing = True
        self._drop_frames()
        if not main.done() and self._open_count:
            await wait_first(self._wait_until_quiet(), self._clock.sleep_ms(grace_ms))
        main.cancel()
        await asyncio.wait([main])
        await self._link.close()
        for driver in self._drivers.values():
            driver.close()

    async def _run(self) -> None:
        async with asyncio.TaskGroup() as loops:
            loops.create_task(self._ids.run())
            loops.create_task(self._executor.run())
            loops.create_task(self._writeback.run())
            loops.create_task(self._execute())
            loops.create_task(self._admit())
            loops.create_task(self._listen())

    async def _listen(self) -> None:
        while True:
            await self._link.connect(self._hello)
            self._connection += 1
            while (message := await self._link.receive()) is not None:
                if isinstance(message, Frame):
                    self._take_frame(message)
                else:
                    self.stop_requested.set()
            # Nobody renews these leases any more, and the next dispatcher knows nothing of them.
            self._executor.cancel_slow()
            await self._release(self._drop_frames())

    def _take_frame(self, frame: Frame) -> None:
        if not self._is_closing:
            self._metrics.received.inc(len(frame.deliveries))
            self._open_count += len(frame.deliveries)
            self._frames.put_nowait((frame, self._connection))

    def _drop_frames(self) -> list[Lease]:
        leases: list[Lease] = []
        while not self._frames.empty():
            frame, _ = self._frames.get_nowait()
            leases += [delivery.lease for delivery in frame.deliveries]
        self._close(len(leases))
        return leases

    async def _release(self, leases: Sequence[Lease]) -> None:
        if not leases:
            return
        try:
            await self._log.release(leases, counted=False)
        except Unavailable as error:
            _log.warning("leases stay until they run out", count=len(leases), error=str(error))

    async def _admit(self) -> None:
        while True:
            frame, connection = await self._frames.get()
            try:
                works = await self._admission.admit(frame, connection=connection)
            except (Unavailable, UsageError) as error:
                _log.warning("frame handed back", generator=frame.generator, error=str(error))
                endings = tuple(RecordEnded(delivery.lease, accepted=False) for delivery in frame.deliveries)
                await self._link.send(FrameDone(frame.frame_id, endings))
                self._close(len(endings))
            else:
                await self._admitted.put(works)

    async def _execute(self) -> None:
        while True:
            await self._executor.execute(await self._admitted.get())

    def _rerun(self, work: Work, conflict: Conflict) -> None:
        self._admission.readmit(work, conflict.existing)
        self._executor.execute_soon(work)

    async def _report(self, endings: Sequence[tuple[Work, RecordEnded]]) -> None:
        self._admission.forget([work for work, _ in endings])
        by_frame: defaultdict[int, list[RecordEnded]] = defaultdict(list)
        for work, ended in endings:
            if work.connection == self._connection:
                by_frame[work.frame_id].append(ended)
        for frame_id, ended_records in by_frame.items():
            await self._link.send(FrameDone(frame_id, tuple(ended_records)))
        self._close(len(endings))

    async def _on_cancelled(self, work: Work) -> None:
        self._admission.forget([work])
        self._metrics.cancelled.inc()
        self._close(1)
        if not self._is_closing:
            await self._release([work.delivery.lease])

    def _close(self, count: int) -> None:
        self._open_count -= count
        if not self._open_count:
            self._quiet.set()

    async def _wait_until_quiet(self) -> None:
        while self._open_count:
            await self._quiet.wait()
