"""Runs record routing in a process: one Runner for each topic, with the workers of its tier.

A log that keeps the order of keys over processes (`key_order`) gives every process its share of each topic. Over any
other log one process at a time works on a topic, and the others stand by to take over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import cast

import structlog

from gristmill.domain.errors import ConfigError, Unavailable
from gristmill.domain.input_key import TENANT_DEFAULT
from gristmill.engine.messages.calling import Calling, Jump, Newest, Parts
from gristmill.engine.messages.copies import Copies
from gristmill.engine.messages.core.envelope import SOURCE_HERE
from gristmill.engine.messages.core.routes import Route, RoutingTable
from gristmill.engine.messages.forwarding import ForwardingLog
from gristmill.engine.messages.holding import TopicHold
from gristmill.engine.messages.metrics import MessageMetrics, message_metrics
from gristmill.engine.messages.settings import MessageSettings
from gristmill.engine.messages.turns import KeyTurns
from gristmill.engine.runner import Runner, RunnerMetrics
from gristmill.engine.wake import wait_first
from gristmill.ports.cache import Cache
from gristmill.ports.clock import Clock, Random
from gristmill.ports.log import KeyOrder, Log

__all__ = ["GROUP", "MessageService"]

GROUP = "messages"
"""The group that works on all topics of routed records."""

KEY_ORDER, OWNER_PROBE = "key_order", "owner_probe"
LOOKS_PER_LEASE = 20

_log = structlog.get_logger()


class MessageService:
    """Gives routed records to the plans of their types, at least once, in the order of each key.

    Args:
        cache: remembers ids, and who holds a topic; shared by all processes.
        order: tells whether the turn of a record has come; needed where the log does not keep the order of keys.
        jumps: plan key -> its jump; see `calling.Jump`.
        newest: tells the newest revision of a content; needed where a route drops what is stale.
        owner: unique for each start of a process.

    Raises:
        ConfigError: the log cannot keep the order of keys, or nothing tells revisions, and a route needs it.
    """

    def __init__(
        self,
        log: Log,
        cache: Cache,
        clock: Clock,
        random: Random,
        *,
        table: RoutingTable,
        jumps: Mapping[str, Jump],
        owner: str,
        order: KeyOrder | None = None,
        newest: Newest | None = None,
        settings: MessageSettings | None = None,
        metrics: MessageMetrics | None = None,
        runner_metrics: RunnerMetrics | None = None,
    ) -> None:
        self._settings = settings = settings or MessageSettings()
        self._metrics = metrics = message_metrics() if metrics is None else metrics
        self._has_order = KEY_ORDER in log.capabilities
        _check(table, has_order=self._has_order or order is not None, has_newest=newest is not None)
        forwarding = ForwardingLog(log, clock, self._is_sure)
        self._log = cast(Log, forwarding)
        self._cache = cache
        self._clock = clock
        self._owner = owner
        self._table = table
        self._runner_metrics = runner_metrics
        self._holds: dict[str, TopicHold] = {}
        self._copies = copies = Copies(cache, ttl_ms=settings.copies_ms)
        self._turns = turns = KeyTurns(None if self._has_order else order, self._is_sure)
        parts = Parts(forwarding, table, jumps, newest, copies, turns, settings, metrics, clock, random)
        self._calling = Calling(parts)

    async def run(self, until: asyncio.Event) -> None:
        """Work until the event is set, then hand back what is left, without counting a try for it.

        Raises:
            ExceptionGroup: a topic could not be claimed from at the start, or the log is broken for good.
        """
        async with asyncio.TaskGroup() as group:
            for topic, routes in self._table.by_topic().items():
                group.create_task(self._work_on(topic, routes, until), name=f"messages.{topic}")

    async def release(self, id_: str, *, source: str = SOURCE_HERE, tenant: str = TENANT_DEFAULT) -> bool:
        """Have a record that holds its key up become a dead letter at its next try, whatever tries it has left.

        False if no such record was tried within the time for which ids are remembered.
        """
        return await self._copies.release(id_, source=source, tenant=tenant)

    async def _work_on(self, topic: str, routes: Sequence[Route], until: asyncio.Event) -> None:
        if self._has_order:
            self._metrics.held.labels(topic).set(1)
            await self._run_runner(topic, routes, until)
            self._metrics.held.labels(topic).set(0)
            return
        hold = TopicHold(self._cache, self._clock, topic, owner=self._owner, ttl_ms=self._settings.hold_ms)
        self._holds[topic] = hold
        while not until.is_set():
            await wait_first(hold.take(), until.wait())
            if until.is_set():
                break
            self._metrics.held.labels(topic).set(1)
            stopping = asyncio.Event()
            async with asyncio.TaskGroup() as group:
                running = group.create_task(self._take_over(topic, routes, stopping))
                await wait_first(hold.keep(), until.wait(), _end_of(running))
                stopping.set()
            self._metrics.held.labels(topic).set(0)
        await hold.leave()

    async def _take_over(self, topic: str, routes: Sequence[Route], until: asyncio.Event) -> None:
        """Wait for what the last holder still has under lease, at most one lease, and work on the topic then.

        Claimed before, later records of the same keys would only wait here for those.
        """
        self._turns.begin(topic)
        lease_ms = self._settings.lease_ms
        for _ in range(LOOKS_PER_LEASE):
            if until.is_set() or not await self._is_leased(topic):
                break
            await wait_first(until.wait(), self._clock.sleep_ms(lease_ms // LOOKS_PER_LEASE))
        await self._run_runner(topic, routes, until)

    async def _is_leased(self, topic: str) -> bool:
        try:
            if OWNER_PROBE in self._log.capabilities:
                await self._log.reclaim(me=self._owner)
            return (await self._log.lag(topic, GROUP)).in_flight > 0
        except Unavailable as error:
            _log.warning("leases of the last holder cannot be looked at", topic=topic, error=str(error))
            return True

    def _is_sure(self, topic: str) -> bool:
        """Whether nobody else is given records of a topic."""
        return self._has_order or self._holds[topic].is_sure()

    async def _run_runner(self, topic: str, routes: Sequence[Route], until: asyncio.Event) -> None:
        settings = self._settings.of_tier(routes[0].tier, attempts=max(route.attempts for route in routes))
        runner = Runner(
            self._log,
            topic,
            GROUP,
            self._calling.handle,
            settings,
            clock=self._clock,
            owner=self._owner,
            metrics=self._runner_metrics,
        )
        await runner.run(until)


async def _end_of(task: asyncio.Task[None]) -> None:
    await asyncio.wait([task])


def _check(table: RoutingTable, *, has_order: bool, has_newest: bool) -> None:
    for routes in table.by_topic().values():
        for route in routes:
            if route.order == "key" and not has_order:
                advice = "set order: none for this type, or use a log that keeps the order of keys"
                raise ConfigError("route by key on a log that cannot keep it", value=route.type, advice=advice)
            if route.drops_stale and not has_newest:
                advice = "set stale: keep for this type, or hand over what tells the newest revision"
                raise ConfigError("route that drops what is stale", value=route.type, advice=advice)
