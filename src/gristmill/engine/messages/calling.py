"""Works on one record: is it its turn, is it a copy, is it stale, what do its plans say, and what becomes of it then.

    read -> route -> turn of its key -> copy? -> stale? -> call the plans that have no final outcome
                                                              |
              done <- all have one <--------------------------+-> some failed -> wait, then again

A record of a key waits where it stands, or others of its key would overtake it; what its plans have answered is kept
beside it. A record without key goes on as a new one that carries the answers, appended with the end of the old one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

import msgspec
import structlog

from gristmill.domain.errors import DataError, InvariantBroken
from gristmill.domain.outcome import Done, Fail, Outcome, Park, Retry, Skip
from gristmill.engine.messages.copies import Copies, Standing
from gristmill.engine.messages.core.envelope import Envelope
from gristmill.engine.messages.core.fan_out import FINAL, Ended, Jumped, TryAgain, decide_fan_out, plans_left
from gristmill.engine.messages.core.routes import Route, RoutingTable
from gristmill.engine.messages.core.wire import origin_of, read_envelope, write_record
from gristmill.engine.messages.forwarding import ForwardingLog
from gristmill.engine.messages.metrics import MessageMetrics, RecordEnd
from gristmill.engine.messages.settings import MessageSettings
from gristmill.engine.messages.turns import KeyTurns
from gristmill.ports.clock import Clock, Random
from gristmill.ports.handling import Handling

__all__ = ["Calling", "Jump", "Newest", "Parts"]

Jump = Callable[[Envelope], Awaitable[Jumped]]
"""Decides for one plan where the content of a record goes. It may be called again with the same id: it tells that by
itself. What it raises has the record tried again, but for a `DataError`, which is `rejected`."""

Newest = Callable[[Envelope], Awaitable[int]]
"""Return the newest revision that is known of the content of a record, 0 if none is."""

_log = structlog.get_logger()


class Parts(msgspec.Struct, frozen=True, eq=False):
    """What the work on all records shares.

    Attributes:
        jumps: plan key -> its jump; a plan without one is not applicable.
        newest: None where no record is dropped as stale.
    """

    log: ForwardingLog
    table: RoutingTable
    jumps: Mapping[str, Jump]
    newest: Newest | None
    copies: Copies
    turns: KeyTurns
    settings: MessageSettings
    metrics: MessageMetrics
    clock: Clock
    random: Random


class Calling:
    """The handler of the Runners of all topics."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def handle(self, handling: Handling) -> Outcome:
        """Work on one record; see `ports.handling.Handler`."""
        parts, delivery = self._parts, handling.delivery
        try:
            envelope = read_envelope(delivery)
            route = parts.table.find(envelope.type)
        except DataError as error:
            parts.metrics.refused.labels(type(error).__name__).inc()
            raise
        if wait_ms := await parts.turns.wait_ms(delivery):
            return Park("an earlier record of its key is open", parts.clock.now_ms() + wait_ms)
        standing = await parts.copies.begin(envelope, origin=origin_of(delivery))
        if not isinstance(standing, Standing):
            return self._skip(route, standing)
        if await self._is_stale(route, envelope):
            return self._skip(route, "stale")
        return await self._call(route, envelope, handling, standing)

    async def _call(self, route: Route, envelope: Envelope, handling: Handling, standing: Standing) -> Outcome:
        parts = self._parts
        attempt = envelope.attempt + handling.attempt - 1
        progress = envelope.progress | standing.progress
        told = msgspec.structs.replace(envelope, attempt=attempt, progress=progress)
        if standing.is_released:
            return await self._give_up(route, told, handling, standing, "released by hand, so that its key goes on")
        left = plans_left(route.plans, progress)
        answers = dict(zip(left, await asyncio.gather(*(self._jump(plan, told) for plan in left)), strict=True))
        for plan, answer in answers.items():
            parts.metrics.jumps.labels(plan, answer if isinstance(answer, str) else "failed").inc()
        decided = decide_fan_out(progress, answers)
        if isinstance(decided, Ended):
            self._note_end(route, "done")
            age_ms = max(0, parts.clock.now_ms() - envelope.at_ms)
            parts.metrics.seconds.labels(route.tier).observe(age_ms / 1_000)
            return Done()
        return await self._fail(route, told, handling, standing, decided)

    async def _fail(
        self, route: Route, told: Envelope, handling: Handling, standing: Standing, decided: TryAgain
    ) -> Outcome:
        parts, tries = self._parts, told.attempt - standing.spent
        kept = msgspec.structs.replace(standing, progress=decided.progress)
        if tries >= route.attempts:
            return await self._give_up(route, told, handling, kept, f"tried {tries} times: {decided.reason}")
        parts.metrics.retries.labels(route.type).inc()
        delay_ms = parts.settings.cycle.compute_delay_ms(tries, draw=parts.random.uniform())
        if route.order == "key" and told.key:
            await parts.copies.keep(told, kept)
            return Retry(delay_ms, decided.reason)
        following = msgspec.structs.replace(told, attempt=told.attempt + 1, progress=decided.progress)
        record = write_record(following, origin=origin_of(handling.delivery), due_at_ms=parts.clock.now_ms() + delay_ms)
        parts.log.follow(handling.delivery.lease, route.topic, msgspec.structs.replace(record, key=""))
        return Skip(f"goes on as another try: {decided.reason}")

    async def _give_up(self, route: Route, told: Envelope, handling: Handling, standing: Standing, why: str) -> Fail:
        """Make a dead letter; whoever brings it back gives it all its tries again."""
        carried = told.attempt - handling.attempt
        kept = msgspec.structs.replace(standing, spent=carried, is_released=False)
        await self._parts.copies.keep(told, kept, has_ended=True)
        self._note_end(route, "given_up")
        return Fail(why)

    async def _jump(self, plan: str, envelope: Envelope) -> Jumped | Exception:
        """Return what a plan answers, or what kept it from answering."""
        jump = self._parts.jumps.get(plan)
        if jump is None:
            return "not_applicable"
        try:
            async with asyncio.timeout(self._parts.settings.jump_timeout_ms / 1_000):
                answer = await jump(envelope)
        except DataError as error:
            _log.warning("plan rejects a record", plan=plan, id=envelope.id, error=str(error))
            return "rejected"
        except Exception as error:
            return error
        if answer not in FINAL:
            advice = f"legal: {', '.join(sorted(FINAL))}"
            return InvariantBroken(f"answer of plan {plan!r}", value=answer, advice=advice)
        return answer

    async def _is_stale(self, route: Route, envelope: Envelope) -> bool:
        newest = self._parts.newest
        if not (route.drops_stale and envelope.source_rev and newest is not None):
            return False
        return envelope.source_rev < await newest(envelope)

    def _skip(self, route: Route, end: RecordEnd) -> Skip:
        self._note_end(route, end)
        return Skip(end)

    def _note_end(self, route: Route, end: RecordEnd) -> None:
        self._parts.metrics.ended.labels(route.type, end).inc()
