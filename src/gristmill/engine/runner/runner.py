"""Drives one group of a log with an async function.

    claim (only for free workers) -> wait behind the key -> run the handler -> accept, give back or bury
              ^                                                  |
              +---- breaker: stop while a dependency is down <---+

A lease is renewed from the claim to the end, and what it is worth is judged here and not by the handler: whoever has
lost it is cancelled and says nothing more of the record to the log.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

import structlog

from gristmill.domain.errors import ConfigError, InvariantBroken
from gristmill.domain.log import Delivery
from gristmill.engine.core.backoff import Backoff
from gristmill.engine.runner.beat import Beat
from gristmill.engine.runner.core.breaker import Breaker
from gristmill.engine.runner.core.failures import Failures
from gristmill.engine.runner.core.verdict import Budget
from gristmill.engine.runner.core.waiting import WaitingRecords
from gristmill.engine.runner.lag import LagPoll
from gristmill.engine.runner.metrics import RunnerMetrics, runner_metrics
from gristmill.engine.runner.settings import RunnerSettings
from gristmill.engine.runner.work import Bench, Ended, RecordWork
from gristmill.engine.wake import Wake, wait_first
from gristmill.ports.clock import Clock
from gristmill.ports.handling import Handler
from gristmill.ports.log import Log

__all__ = ["Runner"]

POLL_MS = 1_000
"""Longest pause between two claims: a safety net under the log's own word that there is something."""

CANCEL_MS = 3_000
"""How long cancelled handlers may take to let go at a stop; with the drain this stays below 30 s."""

CLAIM_AGAIN_MS_MAX = 5_000
"""Longest pause after a claim that failed: a log that is back should not wait for long."""

LOOK_AT_KEYS_MS = 1_000
DUE_MAX = 1_000
"""Times at which records come again that are remembered, to claim just then; beyond it the poll finds them."""

KEY_HELD_MS_MAX = 3_600_000
"""Records of a key that wait longer behind an earlier one are told of, once in each such time."""

_log = structlog.get_logger()


class Runner:
    """Runs a handler over the records of one group, at least once for each; see `ports.handling.Handler`.

    Args:
        owner: unique for each start of a process (`adapters.local_host.new_owner`).
        metrics: shared by all Runners of a process unless given.
        beat: keeps the leases, where several Runners of a process share one that somebody else runs.
        has_own_lag: look how far the group is behind while running; off where somebody else looks.

    Raises:
        ConfigError: the settings cannot work; the setting is named.
    """

    def __init__(
        self,
        log: Log,
        topic: str,
        group: str,
        handler: Handler,
        settings: RunnerSettings,
        *,
        clock: Clock,
        owner: str,
        metrics: RunnerMetrics | None = None,
        beat: Beat | None = None,
        has_own_lag: bool = True,
    ) -> None:
        settings.check(group)
        self.topic, self.group, self.owner = topic, group, owner
        self._log = log
        self._settings = settings
        self._clock = clock
        self._metrics = metrics = runner_metrics() if metrics is None else metrics
        # A log with a few fixed delays would round a stretched one up to the next.
        swing = 0.0 if "fixed_delays" in log.capabilities else settings.swing
        budget = Budget(settings.attempts, settings.delays_ms, swing, settings.dependency_delay_ms, settings.may_retry)
        self._bench = Bench(log, handler, settings, budget, clock, metrics, Failures())
        self._beat = Beat(log, clock, metrics) if beat is None else beat
        self._has_own_beat = beat is None
        self._has_own_lag = has_own_lag
        self._breaker = Breaker(failures_max=settings.dependency_failures_max, probe_ms=settings.probe_ms)
        self._waiting = WaitingRecords(settings.ordering, grace_ms=2 * settings.lease_ms + POLL_MS)
        self._backoff = Backoff(max_ms=CLAIM_AGAIN_MS_MAX)
        self._running: dict[asyncio.Task[None], RecordWork] = {}
        self._due_at_ms: list[int] = []
        self._wake = Wake()
        self._is_stopping = False
        self._has_joined = False
        self._broken: BaseException | None = None
        self._told_held_at_ms = 0
        self._looked_at_keys_ms = 0
        self._stopped_at_ms: int | None = None
        self.is_up = False
        """Whether the last claim succeeded."""
        self.started = asyncio.Event()
        """Set once the group could be claimed from."""

    async def run(self, until: asyncio.Event) -> None:
        """Work until the event is set, then hand back what is left, without counting a run for it.

        Raises:
            Exception: the first claim failed, and the group is not optional; or the log is broken for good.
        """
        services = [asyncio.create_task(self._stop_with(until), name="runner.stop")]
        if self._has_own_beat:
            services.append(asyncio.create_task(self._beat.run(), name="runner.beat"))
        if self._has_own_lag:
            poll = LagPoll(
                self._log,
                [(self.topic, self.group)],
                self._clock,
                self._metrics.lag,
                interval_ms=self._settings.lag_interval_ms,
            )
            services.append(asyncio.create_task(poll.run(), name="runner.lag"))
        if "owner_probe" in self._log.capabilities:
            services.append(asyncio.create_task(self._reclaim(), name="runner.reclaim"))
        for service in services:
            service.add_done_callback(self._on_service_done)
        drain_ms = 0  # Unless it ends as it should: whoever cancels this does not want to wait.
        try:
            await self._claim_until_stopped()
            drain_ms = self._settings.drain_ms
        finally:
            try:
                await self._end(drain_ms)
            finally:
                for service in services:
                    service.cancel()
                await asyncio.gather(*services, return_exceptions=True)
        if self._broken is not None:
            raise self._broken

    async def _stop_with(self, until: asyncio.Event) -> None:
        await until.wait()
        self._is_stopping = True
        self._stopped_at_ms = self._now_ms()
        self._wake.set()

    async def _claim_until_stopped(self) -> None:
        while not self._is_stopping and self._broken is None:
            self._begin()
            limit = self._limit()
            if limit > 0:
                found = await self._claim(limit)
                if found:
                    await self._take_in(found)
                elif found is not None:
                    await self._wait_for_records()
            else:
                await self._wait_for_room()
            self._look_at_keys()

    def _limit(self) -> int:
        settings, now_ms = self._settings, self._now_ms()
        if self._backoff.ready_in_ms(now_ms=now_ms):
            return 0
        room = settings.workers + settings.prefetch - len(self._running) - self._waiting.ready_count
        return self._breaker.limit(min(max(0, room), settings.batch), now_ms=now_ms)

    async def _claim(self, limit: int) -> list[Delivery] | None:
        """Return what was claimed, None when the claim failed."""
        settings, asked_at_ms = self._settings, self._now_ms()
        try:
            found = await self._log.claim(
                self.topic, self.group, owner=self.owner, limit=limit, lease_ms=settings.lease_ms
            )
        except (ConfigError, InvariantBroken):
            self._up(False)
            # A log that is broken stays so; whoever started this process has to know.
            if self._has_joined or not settings.is_optional:
                raise
            self._note_claim_failed("the group cannot be joined")
            return None
        except Exception as error:
            self._up(False)
            if not self._has_joined and not settings.is_optional:
                raise
            self._note_claim_failed(repr(error))
            return None
        self._up(True)
        self._has_joined = True
        self._backoff.on_success()
        self.started.set()
        if found:
            self._breaker.on_claimed(now_ms=self._now_ms())
        for delivery in found:
            lose = partial(self._on_lost, delivery)
            self._beat.hold(delivery.lease, lease_ms=settings.lease_ms, asked_at_ms=asked_at_ms, on_lost=lose)
        return found

    async def _take_in(self, found: Sequence[Delivery]) -> None:
        for delivery in found:
            delay_ms = self._waiting.add(delivery, now_ms=self._now_ms())
            if delay_ms is not None:
                await self._give_back([delivery], delay_ms=delay_ms)

    def _begin(self) -> None:
        now_ms = self._now_ms()
        while len(self._running) < self._settings.workers:
            delivery = self._waiting.take(now_ms=now_ms)
            if delivery is None:
                break
            work = RecordWork(self._bench, delivery)
            task = asyncio.create_task(self._work(work), name=f"runner.{self.group}.{delivery.lease.offset}")
            self._running[task] = work
            task.add_done_callback(self._on_task_done)
        self._metrics.in_flight.labels(self.topic, self.group).set(len(self._running))

    async def _work(self, work: RecordWork) -> None:
        ended = await work.run()
        self._beat.drop(work.lease)
        now_ms = self._now_ms()
        due_at_ms = None if ended.due_in_ms is None else now_ms + ended.due_in_ms
        self._waiting.end(work.delivery, due_at_ms=due_at_ms)
        if due_at_ms is not None and len(self._due_at_ms) < DUE_MAX:
            self._due_at_ms.append(due_at_ms)
        await self._heed(ended, now_ms)

    async def _heed(self, ended: Ended, now_ms: int) -> None:
        """Tell the breaker what a run says about the dependency."""
        if ended.ending in ("lost", "stopped"):
            return
        if ended.ending == "dependency":
            if self._breaker.on_dependency_down(now_ms=now_ms):
                _log.warning("dependency is down, claiming stops", topic=self.topic, group=self.group)
                self._metrics.breaker_open.labels(self.topic, self.group).set(1)
                delay_ms = self._settings.dependency_delay_ms
                await self._give_back(self._waiting.take_all(due_at_ms=now_ms + delay_ms), delay_ms=delay_ms)
        elif self._breaker.on_answer():
            _log.info("dependency is back, claiming goes on", topic=self.topic, group=self.group)
            self._metrics.breaker_open.labels(self.topic, self.group).set(0)
            self._waiting.resume(now_ms=now_ms)

    async def _wait_for_records(self) -> None:
        now_ms = self._now_ms()
        timeout_ms = max(1, min([POLL_MS, *(due_at_ms - now_ms for due_at_ms in self._due_at_ms)]))
        try:
            await self._wake.wait_or(self._log.wait([self.topic], timeout_ms=timeout_ms))
        except Exception as error:
            _log.warning("log cannot be waited on", topic=self.topic, group=self.group, error=repr(error))
            await self._wake.wait_for(self._clock, timeout_ms=timeout_ms)

    async def _wait_for_room(self) -> None:
        now_ms = self._now_ms()
        pauses_ms = (POLL_MS, self._breaker.due_in_ms(now_ms=now_ms), self._backoff.ready_in_ms(now_ms=now_ms))
        await self._wake.wait_for(self._clock, timeout_ms=min(pause_ms for pause_ms in pauses_ms if pause_ms))

    async def _give_back(self, deliveries: Sequence[Delivery], *, delay_ms: int) -> None:
        """Hand records back that have not begun; a run is not counted for them."""
        if not deliveries:
            return
        for delivery in deliveries:
            self._beat.drop(delivery.lease)
        try:
            await self._log.release([each.lease for each in deliveries], delay_ms=delay_ms, counted=False)
        except Exception as error:
            count = len(deliveries)
            _log.warning("leases stay until they run out", group=self.group, count=count, error=repr(error))

    async def _end(self, drain_ms: int) -> None:
        """Let running work end, cancel what does not in time, and hand all back that is left."""
        self._is_stopping = True
        now_ms = self._now_ms()
        waiting = self._waiting.take_all(due_at_ms=now_ms)
        await wait_first(self._give_back(waiting, delay_ms=0), self._clock.sleep_ms(CANCEL_MS))
        if self._stopped_at_ms is not None:
            # A claim that hung has used up part of the time that whoever stops us allows.
            drain_ms = max(0, drain_ms - (self._now_ms() - self._stopped_at_ms))
        if self._running:
            await wait_first(asyncio.wait(self._running), self._clock.sleep_ms(drain_ms))
        for work in self._running.values():
            work.stop("the process stops")
        if self._running:
            await wait_first(asyncio.wait(self._running), self._clock.sleep_ms(CANCEL_MS))
        for task, work in self._running.items():
            # Its lease is left to run out: handed back now, somebody else would work on it beside this one.
            task.cancel()
            _log.error("handler does not let go", group=self.group, offset=work.lease.offset)
        self._metrics.in_flight.labels(self.topic, self.group).set(0)
        self._up(False)

    async def _reclaim(self) -> None:
        while True:
            await self._clock.sleep_ms(self._settings.reclaim_interval_ms)
            try:
                if await self._log.reclaim(me=self.owner):
                    self._wake.set()
            except Exception as error:
                _log.warning("dead owners cannot be looked for", error=repr(error))

    def _look_at_keys(self) -> None:
        now_ms = self._now_ms()
        self._due_at_ms = [due_at_ms for due_at_ms in self._due_at_ms if due_at_ms > now_ms]
        if now_ms - self._looked_at_keys_ms < LOOK_AT_KEYS_MS:
            return
        self._looked_at_keys_ms = now_ms
        if not self._breaker.is_open:
            self._waiting.tick(now_ms=now_ms)
        held_ms = self._waiting.held_ms_max(now_ms=now_ms)
        self._metrics.key_held.labels(self.topic, self.group).set(held_ms / 1_000)
        if held_ms >= KEY_HELD_MS_MAX and now_ms - self._told_held_at_ms >= KEY_HELD_MS_MAX:
            self._told_held_at_ms = now_ms
            _log.error("records wait behind one of their key", topic=self.topic, group=self.group, held_ms=held_ms)

    def _on_lost(self, delivery: Delivery, reason: str) -> None:
        for work in self._running.values():
            if work.delivery is delivery:
                work.lose(reason)
                return
        self._waiting.drop(delivery)

    def _on_task_done(self, task: asyncio.Task[None]) -> None:
        self._running.pop(task, None)
        self._note_broken(task)
        self._wake.set()

    def _on_service_done(self, task: asyncio.Task[None]) -> None:
        self._note_broken(task)
        self._wake.set()

    def _note_broken(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None and self._broken is None:
            self._broken = error

    def _note_claim_failed(self, error: str) -> None:
        pause_ms = self._backoff.on_failure(now_ms=self._now_ms())
        _log.warning("claim failed", topic=self.topic, group=self.group, error=error, again_in_ms=pause_ms)

    def _up(self, is_up: bool) -> None:
        self.is_up = is_up
        self._metrics.up.labels(self.topic, self.group).set(int(is_up))

    def _now_ms(self) -> int:
        return self._clock.monotonic_us() // 1_000
