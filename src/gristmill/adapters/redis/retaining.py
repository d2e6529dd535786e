"""What a log on Redis lets go that somebody has not read, by the rules of an installation, and its warnings before."""

from __future__ import annotations

from collections.abc import Sequence

import structlog

from gristmill.adapters.redis.places import KeyNames
from gristmill.adapters.redis.server import RedisServer
from gristmill.domain.upkeep.retention import RetentionRules

__all__ = ["ENTRIES_ALARM", "RedisRetention"]

ENTRIES_ALARM = 200_000
"""Entries of one stream above which somebody should look at the group that is behind: they are kept in memory."""

STANDING_TOLD_MS = 3_600_000
TELL_AGAIN_MS = 3_600_000

_log = structlog.get_logger()


class RedisRetention:
    """Rules of one installation over the topics of one prefix."""

    def __init__(self, server: RedisServer, names: KeyNames, rules: RetentionRules) -> None:
        self._server = server
        self._names = names
        self._rules = rules
        self._told_at_ms: dict[str, int] = {}

    @property
    def lossy_topics(self) -> frozenset[str]:
        """Topics that may lose records."""
        return frozenset(self._rules.lossy)

    def cap_of(self, topic: str) -> int:
        """Return how many records of a topic are kept about, 0 for all."""
        rule = self._rules.lossy.get(topic)
        return 0 if rule is None else rule.max_entries

    async def expire(self, topic: str, *, now: str) -> int:
        """Delete what a lossy topic no longer keeps; groups count it as lost."""
        rule = self._rules.lossy.get(topic)
        if rule is None or topic in self._names.foreign:
            return 0
        stream, expired = self._names.topic(topic).stream, 0
        if rule.max_entries:
            expired += int(await self._server.do("XTRIM", stream, "MAXLEN", "~", rule.max_entries))
        is_more = bool(rule.max_age_ms)
        while is_more:
            count, is_more = await self._server.run("expire", [stream], (now, rule.max_age_ms))
            expired += int(count)
        return expired

    async def let_go(self, topic: str, groups: Sequence[str], *, now: str, now_ms: int) -> list[str]:
        """Return groups that nobody here serves and that have stood still for so long that they hold nothing back.

        Args:
            now: as scripts take it.
            now_ms: for how often it is told.
        """
        served = self._rules.groups.get(topic, ())
        found: list[str] = []
        for group in groups:
            if group in served or not self._rules.abandoned_ms:
                continue
            keys = self._names.topic(topic).group(group).all()
            since_ms = int(await self._server.run("standing", keys, (group, now)))
            standing_ms = int(now or await self._server.read_time_ms()) - since_ms if since_ms else 0
            if standing_ms >= self._rules.abandoned_ms:
                found.append(group)
            self._tell_standing(topic, group, standing_ms, now_ms=now_ms)
        return found

    async def warn(self, topic: str, *, now_ms: int) -> None:
        """Say so, once an hour, where a topic has grown large."""
        count = int(await self._server.do("XLEN", self._names.topic(topic).stream))
        if count >= ENTRIES_ALARM and self._is_to_be_told(topic, now_ms):
            _log.warning("topic grows", topic=topic, records=count, most=ENTRIES_ALARM)

    def _tell_standing(self, topic: str, group: str, standing_ms: int, *, now_ms: int) -> None:
        if standing_ms < STANDING_TOLD_MS or not self._is_to_be_told(f"{topic} {group}", now_ms):
            return
        left_s = (self._rules.abandoned_ms - standing_ms) // 1000
        if left_s > 0:
            _log.warning("nobody serves a group", topic=topic, group=group, lets_go_in_s=left_s)
        else:
            _log.warning("group holds no records back any more", topic=topic, group=group)

    def _is_to_be_told(self, subject: str, now_ms: int) -> bool:
        told_at_ms = self._told_at_ms.get(subject)
        if told_at_ms is not None and now_ms - told_at_ms < TELL_AGAIN_MS:
            return False
        self._told_at_ms[subject] = now_ms
        return True
