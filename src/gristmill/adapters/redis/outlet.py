"""Sending rows of an outbox to topics on Redis: a marker beside the stream keeps each from coming twice."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from gristmill.adapters.redis.log import RedisLog
from gristmill.adapters.redis.places import TopicKeys, place_of
from gristmill.adapters.redis.server import RedisServer
from gristmill.domain.outbox import OutboxRow

__all__ = ["RedisOutlet"]


class RedisOutlet:
    """See `ports.outbox.Outlet`. Markers share the slot of their topic."""

    def __init__(self, log: RedisLog, server: RedisServer) -> None:
        self._log = log
        self._server = server

    async def append(self, topic: str, rows: Sequence[OutboxRow]) -> list[int]:
        """Append the records of rows that have no marker, and return the offsets of all."""
        return await self._log.append_marked(
            topic, [row.record for row in rows], outbox_ids=[row.outbox_id for row in rows]
        )

    async def forget(self, rows: Sequence[OutboxRow]) -> None:
        """Delete the markers of rows."""
        await self._server.do_all([("DEL", self._keys(row.topic).marker(row.outbox_id)) for row in rows])

    async def present(self, topic: str, offsets: Collection[int]) -> set[int]:
        """Return those offsets whose records are still in the stream."""
        wanted, stream = sorted(offsets), self._keys(topic).stream
        places = [place_of(offset) for offset in wanted]
        found = await self._server.do_all([("XRANGE", stream, place, place) for place in places])
        return {offset for offset, entries in zip(wanted, found, strict=True) if entries}

    def _keys(self, topic: str) -> TopicKeys:
        return self._server.target.names.topic(topic)
