"""One record from its claim to its end: the run of the handler, and what becomes of the record after it."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import structlog

from gristmill.domain.errors import UsageError
from gristmill.domain.front.trace import read_trace_id
from gristmill.domain.log import Delivery, Diagnosis, Lease
from gristmill.engine.core.recovery import cut_error_text
from gristmill.engine.runner.core.failures import Failures
from gristmill.engine.runner.core.verdict import (
    Accept,
    Budget,
    Bury,
    GiveBack,
    Verdict,
    compute_draw,
    decide_end,
    decide_start,
    judge,
)
from gristmill.engine.runner.metrics import RunnerMetrics
from gristmill.engine.runner.settings import RunnerSettings
from gristmill.ports.clock import Clock
from gristmill.ports.handling import CancelToken, Handler, Handling
from gristmill.ports.log import Log

__all__ = ["Bench", "Ended", "RecordWork"]

SETTLE_AGAIN_MS = 500
"""Pause before the log is told again how a record ended; its lease is kept meanwhile."""

US_PER_S = 1_000_000

_log = structlog.get_logger()


class Bench(msgspec.Struct, frozen=True, eq=False):
    """What the work on all records of a group shares."""

    log: Log
    handler: Handler
    settings: RunnerSettings
    budget: Budget
    clock: Clock
    metrics: RunnerMetrics
    failures: Failures


class Ended(msgspec.Struct, frozen=True):
    """How the work on a record ended.

    Attributes:
        ending: `done`, `poison`, `retry`, `dead`, `dependency`, `parked`, `lost` or `stopped`.
        due_in_ms: after which the record comes again; None where it does not, or somebody else has it.
    """

    ending: str
    due_in_ms: int | None = None


class RecordWork:
    """Work on one delivery. `lose` and `stop` may come at any moment."""

    def __init__(self, bench: Bench, delivery: Delivery) -> None:
        self._bench = bench
        self.delivery = delivery
        self._token = CancelToken()
        self._task: asyncio.Task[Any] | None = None
        self._is_lost = False
        self._is_stopped = False

    @property
    def lease(self) -> Lease:
        """The lease that the work is done under."""
        return self.delivery.lease

    def lose(self, reason: str) -> None:
        """The lease is gone: end the handler now, and say nothing of the record to the log any more."""
        self._is_lost = True
        self._cancel(reason)

    def stop(self, reason: str) -> None:
        """The process stops: end the handler now and hand the record back."""
        self._is_stopped = True
        self._cancel(reason)

    async def run(self) -> Ended:
        """Run the handler and tell the log how it ended."""
        bench, delivery, lease = self._bench, self.delivery, self.lease
        headers = delivery.headers
        structlog.contextvars.bind_contextvars(
            topic=lease.topic, group=lease.group, offset=lease.offset, attempt=delivery.attempt, owner=lease.owner
        )
        trace_id = read_trace_id(headers)
        if trace_id:
            structlog.contextvars.bind_contextvars(trace_id=trace_id)
        if item_id := headers.get(bench.settings.item_header, ""):
            structlog.contextvars.bind_contextvars(item_id=item_id)
        place = (lease.topic, lease.group)
        if delivery.attempt > 1:
            bench.metrics.redeliveries.labels(*place).inc()
        verdict: Verdict | None = decide_start(delivery, bench.budget)
        if verdict is None:
            began_us = bench.clock.monotonic_us()
            verdict = await self._run_handler(trace_id)
            bench.metrics.seconds.labels(*place).observe((bench.clock.monotonic_us() - began_us) / US_PER_S)
        ended = await self._settle(verdict)
        bench.metrics.messages.labels(*place, ended.ending).inc()
        return ended

    def _cancel(self, reason: str) -> None:
        self._token.cancel(reason)
        if self._task is not None:
            self._task.cancel()

    async def _run_handler(self, trace_id: str) -> Verdict:
        bench, delivery = self._bench, self.delivery
        task = self._task = asyncio.current_task()
        value: Any = None
        raised: BaseException | None = None
        try:
            self._token.check()
            value = await bench.handler(Handling(delivery, self._token, bench.budget.attempts, trace_id))
        except asyncio.CancelledError as error:
            # Of ours, of whoever runs this Runner, or of something that the handler itself waited for.
            if not self._token.is_cancelled and task is not None and task.cancelling():
                raise
            raised = error
        except Exception as error:
            raised = error
        finally:
            self._task = None
        if self._token.is_cancelled and task is not None:
            task.uncancel()
        return self._decide(value, raised)

    def _decide(self, value: Any, raised: BaseException | None) -> Verdict:
        bench, lease, attempt = self._bench, self.lease, self.delivery.attempt
        error_class = ""
        if raised is not None:
            if self._is_stopped:
                # Whatever it made of being cancelled is not the record's fault.
                return GiveBack(0, False, "stopped", self._token.reason)
            value, error_class = judge(raised)
            _log.info("handler failed", error=repr(raised))
        draw = compute_draw((lease.topic, lease.group, lease.offset, attempt))
        now_ms = bench.clock.now_ms()
        return decide_end(value, attempt, bench.budget, error_class=error_class, draw=draw, now_ms=now_ms)

    async def _settle(self, verdict: Verdict) -> Ended:
        """Tell the log, again and again while it cannot be reached and the lease holds.

        What it will not take makes a dead letter; a dead letter that it will not take is left to the end of its lease.
        """
        diagnosis = self._diagnose(verdict)
        while not self._is_lost:
            try:
                is_ours = await self._tell(verdict, diagnosis)
            except UsageError as error:
                # It would refuse the next time too, and the record would keep its worker for ever.
                _log.error("log refuses how a record ended", ending=verdict.ending, error=str(error))
                if isinstance(verdict, Bury):
                    break
                verdict = Bury(type(error).__name__, str(error), "poison")
                diagnosis = self._diagnose(verdict)
                continue
            except Exception as error:
                _log.warning("log cannot be told how a record ended", ending=verdict.ending, error=repr(error))
                await self._bench.clock.sleep_ms(min(SETTLE_AGAIN_MS, self._bench.settings.lease_ms // 6))
                continue
            if not is_ours:
                break
            return self._note(verdict)
        _log.warning("lease lost, nothing is said of the record", ending=verdict.ending, reason=self._token.reason)
        return Ended("lost")

    async def _tell(self, verdict: Verdict, diagnosis: Diagnosis | None) -> bool:
        log, lease = self._bench.log, self.lease
        match verdict:
            case Accept():
                return (await log.accept([lease]))[0]
            case GiveBack(delay_ms=delay_ms, counted=counted):
                return (await log.release([lease], delay_ms=delay_ms, counted=counted))[0]
            case Bury():
                return diagnosis is not None and await log.reject(lease, diagnosis) != "lost"

    def _diagnose(self, verdict: Verdict) -> Diagnosis | None:
        """Remember a failure, or make the diagnosis of all of them."""
        bench, offset = self._bench, self.lease.offset
        if isinstance(verdict, GiveBack) and verdict.counted:
            bench.failures.add(offset, (bench.clock.now_ms(), self.lease.owner, cut_error_text(verdict.text)))
        if not isinstance(verdict, Bury):
            return None
        text = cut_error_text(verdict.text)
        last = (bench.clock.now_ms(), self.lease.owner, text)
        return Diagnosis(verdict.error_class, text, task=self.lease.group, history=(*bench.failures.take(offset), last))

    def _note(self, verdict: Verdict) -> Ended:
        match verdict:
            case Accept():
                self._bench.failures.take(self.lease.offset)
                return Ended(verdict.ending)
            case GiveBack(delay_ms=delay_ms):
                return Ended(verdict.ending, delay_ms)
            case Bury(error_class=error_class):
                place = (self.lease.topic, self.lease.group)
                self._bench.metrics.dead.labels(*place, error_class).inc()
                _log.warning("record given up", error_class=error_class, error=verdict.text)
                return Ended(verdict.ending)
