"""Where the log of a hurt group lives: what starts it, how it is written from outside, and what can be done to it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.kafka import KafkaLog, KafkaSettings
from gristmill.adapters.kafka.admin import TopicAdmin
from gristmill.adapters.kafka.core.naming import Names, pack_offset, unpack_offset
from gristmill.adapters.recording import HistoryEvent
from gristmill.adapters.redis import RedisLog, RedisServer, RedisTarget
from gristmill.adapters.sqlite import SqliteStore
from gristmill.domain.log import NewRecord
from gristmill.ports.log import Log
from gristmill.testing.crash.cycles.hurts import AT_A_SERVER, TO_PROCESSES, Hurt
from gristmill.testing.cut_proxy import CutProxy
from gristmill.testing.history import Bounds
from gristmill.testing.kafka_broker import KafkaBroker
from gristmill.testing.redis_server import RedisProcess

__all__ = [
    "GROUP",
    "LEASE_MS",
    "TOPIC",
    "Ground",
    "KafkaGround",
    "LogKind",
    "RedisGround",
    "SqliteGround",
    "open_ground",
]

LogKind = Literal["sqlite", "redis", "kafka"]

TOPIC = "numbered"
GROUP = "numbered.numbered"
LEASE_MS = 3_000
DELIVERIES_MAX = 12
"""Without bound but chance, so that no record is given up."""

BOUNDS = Bounds(attempts_max=DELIVERIES_MAX, reclaim_ms=20_000, wedge_ms=60_000)
"""A lease, a restart and its imports. Records are told as if all had been there from the start, so the silence counts
the pauses of whoever appends them."""

SESSION_MS = 6_000
"""Twice the lease: a frozen member of a Kafka group just loses its partitions. Brokers take no less by default."""

PARTITIONS = 2
STEAL_S = 15.0
THIEF = "thief:0:0"
TOKEN_MS = 3_600_000


class Ground(Protocol):
    """A log with all that is needed to hurt a group over it. Make it and use it on one event loop.

    Attributes:
        log: the log as an outsider writes it and looks at it.
        environment: tells a group where the log is.
        hurts: what can be done here.
        look_again_s: between two looks at how far the group is.
    """

    log: Log
    environment: Mapping[str, str]
    hurts: tuple[Hurt, ...]
    bounds: Bounds
    look_again_s: float
    is_log_apart: bool
    proxy: CutProxy | None

    async def append_once(self, records: Sequence[NewRecord], *, token: str) -> list[int]:
        """Append records, or find that this was done under the same token."""
        ...

    async def list_published(self, told: Sequence[int]) -> list[int]:
        """Return the offsets of all records; `told` are those that appends have answered."""
        ...

    async def read_progress(self) -> list[int]:
        """Return, for each part of the topic, the offset up to which the group says that all has ended."""
        ...

    def part(self, event: HistoryEvent) -> HistoryEvent:
        """Return an event under the name of the part of its topic within which offsets grow."""
        ...

    async def steal(self) -> None:
        """Claim in somebody else's name what has run out, and give it back."""
        ...

    async def restart_server(self, *, away_s: float) -> None:
        """Kill the server and start it again."""
        ...

    async def close(self) -> None:
        """Let go of everything."""
        ...


def open_ground(kind: LogKind, folder: Path, *, program: str = "") -> Ground:
    """Start what a log needs.

    Args:
        folder: gets all data; the group's state is in `state` there.
        program: the Redis server to start; empty takes the first that is found.
    """
    match kind:
        case "sqlite":
            return SqliteGround(folder)
        case "redis":
            return RedisGround(folder, program=program)
        case "kafka":
            return KafkaGround(folder)


class _Common:
    hurts: tuple[Hurt, ...] = (*TO_PROCESSES, *AT_A_SERVER)
    bounds = BOUNDS
    look_again_s = 0.05
    is_log_apart = True
    proxy: CutProxy | None = None

    async def list_published(self, told: Sequence[int]) -> list[int]:
        return list(told)

    async def read_progress(self) -> list[int]:
        return []

    def part(self, event: HistoryEvent) -> HistoryEvent:
        return event


class SqliteGround(_Common):
    """The log in the group's own file. No server, so only processes are hurt."""

    hurts: tuple[Hurt, ...] = TO_PROCESSES
    is_log_apart = False

    def __init__(self, folder: Path) -> None:
        (folder / "state").mkdir(parents=True)
        self.environment: Mapping[str, str] = {"GRISTMILL_LOG__BACKEND": "sqlite"}
        path = folder / "state" / "gristmill.sqlite"
        self._store = SqliteStore.open(path, clock=SystemClock(), owner=f"feeder:{os.getpid()}:0")
        self.log: Log = self._store.log

    async def append_once(self, records: Sequence[NewRecord], *, token: str) -> list[int]:
        return await self.log.append(TOPIC, records)

    async def steal(self) -> None:
        await _steal(self.log)

    async def restart_server(self, *, away_s: float) -> None:
        raise NotImplementedError

    async def close(self) -> None:
        await self._store.close()


class RedisGround(_Common):
    """A Redis of its own behind a proxy; the outsider goes past the proxy."""

    def __init__(self, folder: Path, *, program: str = "") -> None:
        self._process = RedisProcess(folder / "redis", program=program)
        self._process.start()
        self._cuts = CutProxy(self._process.port)
        self.proxy = self._cuts
        self.environment: Mapping[str, str] = {
            "GRISTMILL_LOG__BACKEND": "redis",
            "GRISTMILL_LOG__URL": f"redis://127.0.0.1:{self._cuts.port}",
        }
        self._redis = RedisLog(RedisServer(RedisTarget(url=self._process.url)), SystemClock())
        self.log: Log = self._redis

    async def append_once(self, records: Sequence[NewRecord], *, token: str) -> list[int]:
        return await self._redis.append_once(TOPIC, records, token=token, token_ms=TOKEN_MS)

    async def steal(self) -> None:
        await _steal(self.log)

    async def restart_server(self, *, away_s: float) -> None:
        await asyncio.to_thread(self._process.kill)
        await asyncio.sleep(away_s)
        await asyncio.to_thread(self._process.start)

    async def close(self) -> None:
        await self._redis.close()
        self._cuts.close()
        self._process.stop()


class KafkaGround(_Common):
    """A Kafka broker of its own that everybody reaches through a proxy, since clients go where the broker says."""

    bounds = Bounds(attempts_max=DELIVERIES_MAX, reclaim_ms=45_000, wedge_ms=60_000)
    """A dead member is missed after its session only, and whoever leads the group waits for it."""

    look_again_s = 0.25

    def __init__(self, folder: Path) -> None:
        self._broker = KafkaBroker(folder / "kafka")
        self._cuts = CutProxy(self._broker.port)
        self.proxy = self._cuts
        self._broker.advertise(self._cuts.port)
        self._broker.start()
        self._settings = KafkaSettings(
            brokers=f"127.0.0.1:{self._cuts.port}",
            prefix="cycles.",
            partition_count=PARTITIONS,
            session_timeout_ms=SESSION_MS,
            drain_ms=0,
        )
        self.environment: Mapping[str, str] = {
            "GRISTMILL_LOG__BACKEND": "kafka",
            "GRISTMILL_LOG__BROKERS": self._settings.brokers,
            "GRISTMILL_LOG__TOPIC_PREFIX": self._settings.prefix,
            "GRISTMILL_LOG__PARTITIONS": str(PARTITIONS),
            "GRISTMILL_LOG__CLIENT": f"session.timeout.ms={SESSION_MS}",
        }
        self._names = Names(self._settings.prefix)
        self._admin = TopicAdmin(self._settings)
        self._kafka = KafkaLog(self._settings, SystemClock())
        self.log: Log = self._kafka

    async def append_once(self, records: Sequence[NewRecord], *, token: str) -> list[int]:
        # Without an answer some may be written; what is written twice is two records of one item.
        return await self.log.append(TOPIC, records)

    async def list_published(self, told: Sequence[int]) -> list[int]:
        ends = await self._admin.ends(self._names.topic(TOPIC))
        return [pack_offset(offset, number) for number, end in enumerate(ends) for offset in range(end)]

    async def read_progress(self) -> list[int]:
        committed = await self._admin.committed(self._names.group(TOPIC, GROUP), self._names.topic(TOPIC))
        return [pack_offset(base - 1, number) for number, (base, _) in committed.items() if base > 0]

    def part(self, event: HistoryEvent) -> HistoryEvent:
        if not event.topic:
            return event
        return msgspec.structs.replace(event, topic=f"{event.topic}/{unpack_offset(event.offset)[1]}")

    async def steal(self) -> None:
        thief = KafkaLog(self._settings, SystemClock())
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(STEAL_S):
                    while not await _steal(thief):
                        await thief.wait([TOPIC], timeout_ms=200)
        finally:
            await thief.close()

    async def restart_server(self, *, away_s: float) -> None:
        await asyncio.to_thread(self._broker.kill)
        await asyncio.sleep(away_s)
        await asyncio.to_thread(self._broker.start)

    async def close(self) -> None:
        await self._kafka.close()
        self._cuts.close()
        self._broker.stop()


async def _steal(log: Log) -> int:
    stolen = await log.claim(TOPIC, GROUP, owner=THIEF, limit=100, lease_ms=LEASE_MS)
    await log.release([one.lease for one in stolen], counted=False)
    return len(stolen)
