"""What a log on Redis does now and then: frees what dead owners hold, trims, and forgets members that are long gone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import structlog

from gristmill.adapters.local_host import OwnerLock, read_marks
from gristmill.adapters.local_host.marks import sweep_marks
from gristmill.adapters.local_host.owners import registered_owners
from gristmill.adapters.redis.places import KeyNames, place_of
from gristmill.adapters.redis.retaining import RedisRetention
from gristmill.adapters.redis.server import RedisServer
from gristmill.domain.errors import Unavailable

__all__ = ["RedisUpkeep"]

MEMBER_IDLE_MS_MAX = 3_600_000
"""A member that has asked for nothing for an hour and holds nothing is gone: owners have a new name at every start."""

_log = structlog.get_logger()


class RedisUpkeep:
    """Upkeep of the topics of one prefix."""

    def __init__(
        self,
        server: RedisServer,
        names: KeyNames,
        channel: str,
        owners_folder: Path | None,
        *,
        retention: RedisRetention,
    ) -> None:
        self._server = server
        self._retention = retention
        self._names = names
        self._channel = channel
        self._owners_folder = owners_folder

    async def free_dead(self, topics: Iterable[str], *, me: str, now: str) -> list[str]:
        """Free the leases of owners of this host whose life lock can be taken; return the topic of each record."""
        folder = self._owners_folder
        if folder is None:
            return []
        dead: dict[str, OwnerLock] = {}
        freed: list[str] = []
        try:
            for owner in registered_owners(folder):
                if owner != me and (lock := OwnerLock.try_take_dead(folder, owner)) is not None:
                    dead[owner] = lock
            if dead:
                groups = [(topic, group) for topic in topics for group in await self.groups_of(topic)]
                for owner in dead:
                    freed += await self._free(groups, owner, read_marks(folder, owner), now=now)
            for lock in dead.values():
                lock.discard()
            if dead:
                sweep_marks(folder, set(registered_owners(folder)))
        finally:
            for lock in dead.values():
                lock.release()
        return freed

    async def trim(self, topic: str, *, upto: int | None, let_go: Sequence[str] = ()) -> int:
        """Delete what every group has accepted, up to an offset or without bound; nothing of what others write.

        Args:
            let_go: groups that hold nothing back; what they miss they count as lost. The last group always holds.
        """
        if topic in self._names.foreign:
            return 0
        keys = self._names.topic(topic)
        groups = await self.groups_of(topic)
        names = [keys.stream, keys.meta, keys.delayed, keys.letters_by_record]
        for group in groups:
            names += [keys.group(group).state, keys.group(group).held]
        bound = "9" * 15 if upto is None else place_of(upto)
        after, trimmed = "", 0
        while True:
            count, following = await self._server.run("trim", names, (bound, after, len(let_go), *let_go, *groups))
            trimmed += int(count)
            if not following:
                return trimmed
            after = following.decode()

    async def reap(self, topic: str, *, idle_ms_max: int = MEMBER_IDLE_MS_MAX) -> int:
        """Remove members of a topic's groups that are long gone."""
        stream = self._names.topic(topic).stream
        groups = await self.groups_of(topic)
        return sum([int(await self._server.run("reap", [stream], (group, idle_ms_max))) for group in groups])

    async def run(self, topics: Iterable[str], *, now: str, now_ms: int) -> None:
        """Trim, expire and reap; what cannot be done now is done the next time."""
        for topic in topics:
            try:
                await self._retention.expire(topic, now=now)
                await self._trim_behind(topic, now=now, now_ms=now_ms)
                await self.reap(topic)
                await self._retention.warn(topic, now_ms=now_ms)
            except Unavailable as error:
                _log.warning("topic cannot be tidied up", topic=topic, error=str(error))

    async def _trim_behind(self, topic: str, *, now: str, now_ms: int) -> None:
        if topic not in self._names.foreign:
            groups = await self.groups_of(topic)
            let_go = await self._retention.let_go(topic, groups, now=now, now_ms=now_ms)
            await self.trim(topic, upto=None, let_go=let_go)

    async def groups_of(self, topic: str) -> list[str]:
        """Return the groups that a stream has, ours and those of others; of a stream of others only ours."""
        keys = self._names.topic(topic)
        if not await self._server.do("EXISTS", keys.stream):
            return []
        found = [info[1].decode() for info in await self._server.do("XINFO", "GROUPS", keys.stream)]
        if topic not in self._names.foreign:
            return found
        are_ours = await self._server.do_all([("EXISTS", keys.group(group).state) for group in found])
        return [group for group, is_ours in zip(found, are_ours, strict=True) if is_ours]

    async def _free(
        self, groups: Iterable[tuple[str, str]], owner: str, marked: frozenset[int] | None, *, now: str
    ) -> list[str]:
        freed: list[str] = []
        places = [] if marked is None else [place_of(offset) for offset in sorted(marked)]
        for topic, group in groups:
            keys = self._names.topic(topic).group(group).all()
            arguments = (group, owner, now, self._channel, topic, int(marked is not None), *places)
            freed += [topic] * await self._server.run("free", keys, arguments)
        return freed
