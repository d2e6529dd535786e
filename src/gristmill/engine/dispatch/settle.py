"""What becomes of records that did not end well: handed back, tried again later, or given up."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

import msgspec
import structlog

from gristmill.domain.errors import Unavailable
from gristmill.domain.frame import RecordEnded
from gristmill.domain.log import Diagnosis, Lease
from gristmill.engine.core.backoff import Backoff
from gristmill.engine.core.inflight import Sent
from gristmill.engine.core.recovery import GiveUp, Recover, decide_failure
from gristmill.engine.dispatch.desk import Desk
from gristmill.engine.settings import recovery_topic_of
from gristmill.engine.wake import Wake
from gristmill.plans.plan import Generator

__all__ = ["Settlement", "TerminalHook"]

TerminalHook = Callable[[str, RecordEnded], Awaitable[None]]
"""Called with the generator type and the ending of a record that failed for good; once it returns, the record is
accepted. What it raises is counted, and the record takes the usual way of recovery instead."""

_log = structlog.get_logger()


class Settlement:
    """Carries out endings one after the other, so that a slow log never holds up results.

    A record keeps its slot and its lease until it is settled; a log that cannot be reached is tried until it can.
    """

    def __init__(self, desk: Desk, generators: Mapping[str, Generator], hooks: Mapping[str, TerminalHook]) -> None:
        self._desk = desk
        self._generators = generators
        self._hooks = hooks
        self._hooked: list[_Failure] = []
        self._failures: list[_Failure] = []
        self._dead: list[_Failure] = []
        self._accepts: list[Lease] = []
        self._returns: list[_Return] = []
        self._wake = Wake()

    def put_failure(self, sent: Sent, diagnosis: Diagnosis) -> None:
        """Have a failed record tried again later or given up, or leave it to its generator's hook."""
        failures = self._hooked if sent.generator in self._hooks else self._failures
        failures.append(_Failure(sent, diagnosis))
        self._wake.set()

    def put_dead(self, sent: Sent, diagnosis: Diagnosis) -> None:
        """Have a record given up."""
        self._dead.append(_Failure(sent, diagnosis))
        self._wake.set()

    def put_accept(self, leases: Sequence[Lease]) -> None:
        """Have records accepted whose results are written."""
        if leases:
            self._accepts += leases
            self._wake.set()

    def put_return(self, leases: Sequence[Lease], *, delay_ms: int = 0, counted: bool = False) -> None:
        """Have records delivered again after `delay_ms`."""
        if leases:
            self._returns.append(_Return(leases, delay_ms, counted))
            self._wake.set()

    async def run(self) -> None:
        """Settle what is put, for ever."""
        backoff = Backoff()
        while True:
            await self._wake.wait()
            try:
                await self.settle()
                backoff.on_success()
            except Unavailable as error:
                pause_ms = backoff.on_failure(now_ms=self._desk.now_ms())
                _log.warning("records cannot be settled", error=str(error), retry_in_ms=pause_ms)
                await self._desk.clock.sleep_ms(pause_ms)
                self._wake.set()

    async def settle(self) -> None:
        """Settle all that has been put so far.

        Raises:
            Unavailable: the log cannot be reached; what is not settled yet stays put.
        """
        await self._call_hooks()
        while self._returns:
            back = self._returns[0]
            await self._desk.log.release(back.leases, delay_ms=back.delay_ms, counted=back.counted)
            self._finish(back.leases)
            del self._returns[0]
        while leases := self._accepts[: self._batch_max]:
            await self._desk.log.accept(leases)
            self._finish(leases)
            del self._accepts[: len(leases)]
        while batch := self._failures[: self._batch_max]:
            await self._settle_failures(batch)
            del self._failures[: len(batch)]
        while self._dead:
            await self._reject(self._dead[0].sent, self._dead[0].diagnosis)
            del self._dead[0]

    @property
    def _batch_max(self) -> int:
        return self._desk.settings.frame_records_max

    async def _call_hooks(self) -> None:
        while self._hooked:
            failure = self._hooked.pop(0)
            sent, lease = failure.sent, failure.sent.delivery.lease
            try:
                ended = RecordEnded(lease, accepted=False, diagnosis=failure.diagnosis)
                await self._hooks[sent.generator](sent.generator, ended)
            except Exception:
                self._desk.metrics.hook_errors.inc()
                _log.exception("terminal hook failed", generator=sent.generator, offset=lease.offset)
                self._failures.append(failure)
            else:
                self._accepts.append(lease)

    async def _settle_failures(self, batch: Sequence[_Failure]) -> None:
        """Move all that come again in one step; those that are given up one by one."""
        moves: list[tuple[Sent, Recover]] = []
        for failure in batch:
            match self._decide(failure):
                case GiveUp(diagnosis=diagnosis):
                    self._dead.append(_Failure(failure.sent, diagnosis))
                case Recover() as recover:
                    moves.append((failure.sent, recover))
        if moves and not await self._move(moves) and len(moves) > 1:
            # One lost lease keeps all of a step from happening; alone, each of the others does.
            for move in moves:
                await self._move([move])
        self._finish([sent.delivery.lease for sent, _ in moves])

    def _decide(self, failure: _Failure) -> Recover | GiveUp:
        desk, sent = self._desk, failure.sent
        return decide_failure(
            sent.delivery,
            failure.diagnosis,
            recovery_topic=recovery_topic_of(self._generators[sent.generator]),
            policy=desk.settings.recovery,
            owner=sent.engine,
            now_ms=desk.clock.now_ms(),
        )

    async def _move(self, moves: Sequence[tuple[Sent, Recover]]) -> bool:
        leases = [sent.delivery.lease for sent, _ in moves]
        is_done = all(await self._desk.log.accept(leases, then=[(move.topic, move.record) for _, move in moves]))
        if is_done:
            for sent, _ in moves:
                self._desk.metrics.recovered.labels(sent.generator).inc()
        return is_done

    async def _reject(self, sent: Sent, diagnosis: Diagnosis) -> None:
        if await self._desk.log.reject(sent.delivery.lease, diagnosis) == "written":
            self._desk.metrics.dead.labels(sent.generator).inc()
        self._finish([sent.delivery.lease])

    def _finish(self, leases: Sequence[Lease]) -> None:
        for lease in leases:
            self._desk.in_flight.take(lease)
        self._desk.note_change()


class _Failure(msgspec.Struct, frozen=True):
    sent: Sent
    diagnosis: Diagnosis


class _Return(msgspec.Struct, frozen=True):
    leases: Sequence[Lease]
    delay_ms: int
    counted: bool
