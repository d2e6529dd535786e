"""Moves a group over its topic on Redis, some entries a call, and finds the place that a time means."""

from __future__ import annotations

from gristmill.adapters.redis.letters import RedisLetters
from gristmill.adapters.redis.places import KeyNames, offset_of, place_of
from gristmill.adapters.redis.records import stored_of
from gristmill.adapters.redis.server import RedisServer
from gristmill.domain.log import NEVER_MS
from gristmill.domain.steering import SeekTo

__all__ = ["RedisSeeking"]

LETTERS_PER_READ = 1_000


class RedisSeeking:
    """Seeks in the topics of one prefix."""

    def __init__(self, server: RedisServer, names: KeyNames, letters: RedisLetters) -> None:
        self._server = server
        self._names = names
        self._letters = letters

    async def seek(self, topic: str, group: str, to: SeekTo, *, now: str, is_preview: bool) -> tuple[int, int]:
        """Move a group, or count what that would do; return how many entries come again, and how many are skipped."""
        first = await self._find_first(topic, to)
        spared = await self._spared(topic, group)
        ahead = await self._go_over(topic, group, "ahead", first, now=now, is_preview=is_preview)
        waiting = await self._go_over(topic, group, "waiting", first, now=now, is_preview=is_preview)
        again = await self._go_over(topic, group, "again", first, now=now, is_preview=is_preview, spared=spared)
        return again, ahead + waiting

    async def _go_over(
        self, topic: str, group: str, what: str, first: str, *, now: str, is_preview: bool, spared: tuple[str, ...] = ()
    ) -> int:
        keys = self._names.topic(topic).group(group).all()
        count, after = 0, ""
        while True:
            arguments = (what, group, first, after, now, int(is_preview), *spared)
            some, following = await self._server.run("seek", keys, arguments)
            count += int(some)
            if not following:
                return count
            after = following.decode()

    async def _spared(self, topic: str, group: str) -> tuple[str, ...]:
        """Return the places of open dead letters of a group."""
        places: list[str] = []
        after = 0
        while True:
            page = await self._letters.list_open(
                [topic], group=group, after=after, limit=LETTERS_PER_READ, has_values=False
            )
            places += [place_of(letter.offset) for letter in page]
            if len(page) < LETTERS_PER_READ:
                return tuple(places)
            after = page[-1].dead_letter_id

    async def _find_first(self, topic: str, to: SeekTo) -> str:
        """Return the place of the first record that a group is to get."""
        stream = self._names.topic(topic).stream
        newest = await self._server.do("XREVRANGE", stream, "+", "-", "COUNT", 1)
        if to.offset is not None or not newest:
            return place_of(to.offset or 0)
        high = offset_of(newest[0][0]) + 1
        at_ms = to.at_ms or 0
        if at_ms >= NEVER_MS:
            return place_of(high)
        low = offset_of((await self._server.do("XRANGE", stream, "-", "+", "COUNT", 1))[0][0])
        # Times grow with places, whoever writes the stream.
        while low < high:
            middle = (low + high) // 2
            found = await self._server.do("XRANGE", stream, place_of(middle), "+", "COUNT", 1)
            if (
                not found
                or (record := stored_of(topic, found[0], field=self._names.field_of(topic))).appended_at_ms >= at_ms
            ):
                high = middle
            else:
                low = record.offset + 1
        return place_of(low)
