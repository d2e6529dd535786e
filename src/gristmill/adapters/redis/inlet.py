"""Publishing where the log is apart from the state: ids first, then the records, and a memory of repeated calls.

An id that was given and whose record was not appended does no harm: the next call for the same input id gets it. A call
with a key is told by the key's token in the log as long as it may be repeated, so it appends once, wherever it is cut.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Sequence

import msgspec

from gristmill.adapters.checks import check_publications
from gristmill.adapters.identifying import identify
from gristmill.adapters.redis.log import RedisLog
from gristmill.adapters.redis.server import RedisServer
from gristmill.domain.front.publication import KeyTaken, Once, Publication, Published
from gristmill.domain.ids import ItemId
from gristmill.domain.log import NewRecord
from gristmill.ports.clock import Clock
from gristmill.ports.state import State

__all__ = ["LogApartInlet"]


SLACK_MS = 60_000
"""The server's clock may be ahead of ours; whether the time of a key is over is judged by ours."""


class _Remembered(msgspec.Struct, frozen=True, array_like=True):
    fingerprint: str
    until_ms: int
    item_ids: tuple[int, ...]


_decoder = msgspec.msgpack.Decoder(_Remembered)


class LogApartInlet:
    """See `ports.front.Inlet`. Records of one topic are appended together; those of several, topic by topic."""

    def __init__(self, state: State, log: RedisLog, server: RedisServer, clock: Clock) -> None:
        self._state = state
        self._log = log
        self._server = server
        self._clock = clock

    async def publish(self, publications: Sequence[Publication], *, once: Once | None = None) -> Published | KeyTaken:
        """Map input ids and append records; with `once`, a repeated call appends nothing."""
        check_publications(publications)
        if once is not None and (known := await self._recall(once)) is not None:
            return known
        item_ids = await identify(self._state, publications)
        by_topic: defaultdict[str, list[NewRecord]] = defaultdict(list)
        for one in publications:
            by_topic[one.topic].append(one.record)
        for topic, records in by_topic.items():
            if once is None:
                await self._log.append(topic, records)
            else:
                await self._log.append_once(topic, records, token=_digest(once), token_ms=self._left_ms(once))
        if once is not None:
            await self._remember(once, item_ids)
        return Published(item_ids)

    async def _recall(self, once: Once) -> Published | KeyTaken | None:
        found = await self._server.do("GET", self._key(once))
        if found is None:
            return None
        known = _decoder.decode(found)
        if known.until_ms <= self._clock.now_ms():
            return None
        if known.fingerprint != once.fingerprint:
            return KeyTaken()
        return Published(tuple(ItemId(one) for one in known.item_ids), is_replay=True)

    async def _remember(self, once: Once, item_ids: tuple[ItemId, ...]) -> None:
        packed = msgspec.msgpack.encode(_Remembered(once.fingerprint, once.until_ms, item_ids))
        await self._server.do("SET", self._key(once), packed, "PX", self._left_ms(once))

    def _left_ms(self, once: Once) -> int:
        return max(0, once.until_ms - self._clock.now_ms()) + SLACK_MS

    def _key(self, once: Once) -> str:
        return f"{self._server.target.prefix}once:{once.key}"


def _digest(once: Once) -> str:
    """Return a token for a key and what is published under it."""
    return hashlib.sha256(f"{once.key}\x00{once.fingerprint}".encode("utf-8", "surrogatepass")).hexdigest()[:32]
