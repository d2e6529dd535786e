"""A log on a server of its own over the state of a folder: the engine commits first, then accepts.

What was committed and not accepted comes again, and is recognised by `State.ended`; who held it before is kept out by
`State.fence`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import msgspec

from gristmill.domain.errors import ConfigError
from gristmill.domain.front.traffic import Interval
from gristmill.domain.log import Hold
from gristmill.domain.upkeep.finding import Finding
from gristmill.ports.clock import Clock
from gristmill.ports.front import Inlet, LabelFacts, Listing, Tokens, Traffic
from gristmill.ports.log import Log
from gristmill.ports.outbox import Outbox, Outlet
from gristmill.runtime.doctor.host_core import judge_skew
from gristmill.runtime.retention.rules import rules_of
from gristmill.runtime.retention.topics import read_lossy
from gristmill.runtime.settings_log import LogSection
from gristmill.runtime.spec import GroupSpec

if TYPE_CHECKING:
    from gristmill.adapters.redis import RedisTarget
    from gristmill.adapters.sqlite import SqliteStore

__all__ = ["ApartLog", "ApartStore", "check_server", "examine_server", "open_redis", "read_foreign"]


class ApartLog(Log, Protocol):
    """A log that can be closed and tells where a record stands."""

    async def hold_of(self, topic: str, group: str, offset: int) -> Hold | None:
        """Return where a record stands for a group, None where the group is done with it or it is gone."""
        ...

    async def close(self) -> None:
        """Let go of the server."""
        ...


class ApartStore:
    """See `stores.Store`; what is published goes through the outbox of the state and the outlet into the log."""

    def __init__(self, store: SqliteStore, log: ApartLog, outlet: Outlet) -> None:
        self._store = store
        self.log = log
        self.outbox: Outbox = store.outbox
        self.outlet = outlet
        self.state = store.state
        self.cache = store.cache
        self.front = _ApartFront(store, log)
        self.definitions = store.definitions
        self.changes = store.changes
        self.deliveries = store.deliveries
        self.closings = store.closings

    async def close(self) -> None:
        """Close both; safe to call twice."""
        await self.log.close()
        await self._store.close()


def open_redis(spec: GroupSpec, clock: Clock, owner: str) -> ApartStore:
    """Open the state of a folder and a log on Redis; the server is asked nothing yet.

    Raises:
        ConfigError: a setting is wrong, the extra is missing, or the file is no store of ours.
        Unavailable: the file cannot be opened.
    """
    from gristmill.adapters.redis import RedisLog, RedisOutlet, RedisServer
    from gristmill.adapters.sqlite import SqliteStore

    section = spec.settings.log
    server = RedisServer(_target_of(section))
    served = [*spec.generators, *spec.awaited]
    rules = rules_of(spec.settings.store.retention, served, lossy=read_lossy(section))
    store = SqliteStore.open(
        spec.folder.store_file,
        clock=clock,
        owner=owner,
        synchronous=spec.settings.store.synchronous,
        is_log_apart=True,
    )
    log = RedisLog(server, clock, owners_folder=store.owners_folder, rules=rules)
    return ApartStore(store, log, RedisOutlet(log, server))


async def check_server(section: LogSection) -> None:
    """Look whether the server is one that a log can live on.

    Raises:
        ConfigError: it is not; the setting is named.
        Unavailable: it cannot be reached.
    """
    from gristmill.adapters.redis import RedisServer

    server = RedisServer(_target_of(section))
    try:
        await server.check()
    finally:
        await asyncio.shield(server.close())


async def examine_server(section: LogSection, clock: Clock) -> list[Finding]:
    """Return all that there is to say about the server: whether a log can live on it, and its clock.

    Raises:
        ConfigError: a setting is wrong, the extra is missing, or the server does not let us in.
        Unavailable: it cannot be reached.
    """
    from gristmill.adapters.redis import RedisServer

    server = RedisServer(_target_of(section))
    try:
        findings = await server.examine()
        before_ms = clock.now_ms()
        server_ms = await server.read_time_ms()
        skew_ms = server_ms - (before_ms + clock.now_ms()) // 2
    finally:
        await asyncio.shield(server.close())
    return [*findings, judge_skew("redis", skew_ms)]


class _ApartFront:
    """See `ports.front.Front`: whereabouts of records from the log, the rest from the state."""

    def __init__(self, store: SqliteStore, log: ApartLog) -> None:
        self.inlet: Inlet = store.front.inlet
        self.facts: LabelFacts = store.front.facts
        self.tokens: Tokens = store.front.tokens
        self.listing: Listing = _Listing(store.front.listing, log)
        self.traffic: Traffic = _Traffic(store.front.traffic)


class _Listing:
    def __init__(self, stored: Listing, log: ApartLog) -> None:
        self.items_before = stored.items_before
        self.runs_of = stored.runs_of
        self.items_of = stored.items_of
        self.item_of_run = stored.item_of_run
        self.peers_of = stored.peers_of
        self.hold_of = log.hold_of


class _Traffic:
    def __init__(self, stored: Traffic) -> None:
        self._stored = stored

    async def count(self, *, since_ms: int, step_ms: int, limit: int, without: Sequence[str] = ()) -> list[Interval]:
        """Return what was done; what came in is known to the log's server alone."""
        intervals = await self._stored.count(since_ms=since_ms, step_ms=step_ms, limit=limit, without=without)
        return [msgspec.structs.replace(one, appended=None) for one in intervals]


def read_foreign(entries: Sequence[str]) -> dict[str, str]:
    """Return the topics that somebody else writes, each with the field of its entries that is the record, or none.

    Raises:
        ConfigError: an entry names no topic, or one topic stands twice.
    """
    foreign: dict[str, str] = {}
    for entry in entries:
        topic, sign, field = entry.partition("=")
        if not topic or (sign and not field) or topic in foreign:
            advice = "write each TOPIC once; of redis also TOPIC=FIELD"
            raise ConfigError("log.foreign", value=entry, advice=advice)
        foreign[topic] = field
    return foreign


def _target_of(section: LogSection) -> RedisTarget:
    from gristmill.adapters.redis import RedisTarget

    return RedisTarget(
        url=section.url,
        password=section.password,
        ca_file=section.ca_file,
        prefix=section.prefix,
        foreign=read_foreign(section.foreign),
        is_ephemeral=section.ephemeral,
    )
