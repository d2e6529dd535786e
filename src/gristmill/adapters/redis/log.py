"""The log port over Redis Streams.

Groups are consumer groups that operators can look at; what a lease is worth is kept beside them and judged by scripts
under the server's own clock, so hosts whose clocks differ can share a group. A call that got no answer is made again:
an append carries a token, a claim its number, and everything else is told by its lease.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import structlog

from gristmill.adapters.checks import check_limit, check_records
from gristmill.adapters.redis.bell import Listener
from gristmill.adapters.redis.core.quiet import QuietTopics
from gristmill.adapters.redis.letters import RedisLetters
from gristmill.adapters.redis.places import offset_of, place_of
from gristmill.adapters.redis.records import lease_text, pack_leases, pack_records, read_claimed, stored_of
from gristmill.adapters.redis.retaining import RedisRetention
from gristmill.adapters.redis.seeking import RedisSeeking
from gristmill.adapters.redis.server import RedisServer
from gristmill.adapters.redis.upkeep import RedisUpkeep
from gristmill.adapters.waiting import POLL_MS_MAX, TopicBells
from gristmill.domain.errors import OutcomeUnknown, Unavailable, UsageError
from gristmill.domain.log import DeadLetter, Delivery, Diagnosis, Hold, Lag, Lease, NewRecord, Rejected, StoredRecord
from gristmill.domain.steering import PartitionLag, SeekTo, Sought
from gristmill.domain.upkeep.retention import RetentionRules
from gristmill.ports.clock import Clock
from gristmill.ports.faults import fault

__all__ = ["RedisLog"]

TOKEN_MS = 600_000
"""How long an append is remembered; whoever got no answer asks again within seconds."""

SCAN_RECORDS_MAX = 5_000
"""Delayed records that one claim sets aside at most; the next one goes on."""

RECORDS_PER_BATCH = 500
UPKEEP_MS = 30_000
CALL_NUMBER_BITS = 31

VANISHED = Diagnosis("vanished", "the record was deleted while this group held it")

_log = structlog.get_logger()


class RedisLog:
    """See `ports.log.Log`. Use it from one event loop.

    Args:
        server: where it lives; closed with the log.
        owners_folder: where processes of this host hold their life locks; leases of owners whose lock is free are
            given back at once. Those of other hosts come back at the end of their leases.
        rules: which topics may lose records, and which groups hold them back; without rules nothing is lost.
        is_server_time: whether the server's clock decides over leases; tests hand in their own.
    """

    def __init__(
        self,
        server: RedisServer,
        clock: Clock,
        *,
        owners_folder: Path | None = None,
        rules: RetentionRules | None = None,
        is_server_time: bool = True,
    ) -> None:
        self._server = server
        self._clock = clock
        self._names = server.target.names
        self._channel = f"{self._names.prefix}bell"
        self._topics_key = f"{self._names.prefix}topics"
        self._retention = RedisRetention(server, self._names, rules or RetentionRules())
        self._is_server_time = is_server_time
        self._bells = TopicBells(clock)
        self._quiet = QuietTopics()
        self._listener = Listener(
            server, self._channel, ring=lambda topic: self._ring([topic]), ring_all=self._ring_all
        )
        self._letters = RedisLetters(server, self._names, self._channel)
        self._seeking = RedisSeeking(server, self._names, self._letters)
        self.upkeep = RedisUpkeep(server, self._names, self._channel, owners_folder, retention=self._retention)
        self._registered: set[str] = set()
        self._claimed: set[str] = set()
        self._unsure: dict[tuple[str, str, str], int] = {}
        self._calls = count(int.from_bytes(os.urandom(4), "big") % (1 << CALL_NUMBER_BITS - 1) + 1)
        self._tokens = (f"{os.urandom(8).hex()}-{number}" for number in count())
        self._upkeep_at_ms = clock.monotonic_us() // 1000 + UPKEEP_MS
        self.capabilities = frozenset({"durable"} | ({"owner_probe"} if owners_folder is not None else set()))

    async def check(self) -> None:
        """Look whether the server is one that a log can live on.

        Raises:
            ConfigError: it is not; the setting is named.
            Unavailable: it cannot be reached.
        """
        await self._server.check()

    async def append(self, topic: str, records: Sequence[NewRecord]) -> list[int]:
        """Append records and return their offsets in input order."""
        check_records(records)
        return await self.append_once(topic, records, token=next(self._tokens), token_ms=TOKEN_MS)

    async def append_once(self, topic: str, records: Sequence[NewRecord], *, token: str, token_ms: int) -> list[int]:
        """Append records unless an append with this token has been made within `token_ms`; return its offsets."""
        check_records(records)
        fault("append.before")
        await self._register(topic)
        keys = self._names.topic(topic)
        cap = self._retention.cap_of(topic)
        arguments = (self._now(), self._channel, topic, token_ms, cap, *pack_records(records))
        names = [keys.stream, keys.meta, keys.delayed, keys.token(token)]
        answer: bytes = await self._server.run("append", names, arguments)
        fault("append.after")
        self._ring([topic])
        if b" " in answer:
            return [offset_of(place) for place in answer.split(b" ")]
        first = offset_of(answer)
        return list(range(first, first + len(records)))

    async def append_marked(self, topic: str, records: Sequence[NewRecord], *, outbox_ids: Sequence[str]) -> list[int]:
        """Append each record unless one was for its row of an outbox; return their offsets."""
        check_records(records)
        await self._register(topic)
        keys = self._names.topic(topic)
        arguments: list[object] = [self._now(), self._channel, topic, self._retention.cap_of(topic)]
        for record in records:
            arguments += pack_records([record])
        names = [keys.stream, keys.meta, keys.delayed, *(keys.marker(one) for one in outbox_ids)]
        places = await self._server.run("send", names, arguments)
        self._ring([topic])
        return [offset_of(place) for place in places]

    async def claim(self, topic: str, group: str, *, owner: str, limit: int, lease_ms: int) -> list[Delivery]:
        """Lease up to `limit` records that nobody holds.

        When the answer to a claim got lost, the next one of the same owner gets what that one has leased.
        """
        check_limit(limit)
        if not owner or "\n" in owner:
            raise UsageError("name of an owner", value=owner, advice="give one of a single line")
        self._bells.look(topic)
        self._claimed.add(topic)
        me = (topic, group, owner)
        number = self._unsure.get(me, 0)
        is_again = number > 0
        number = number or next(self._calls)
        now_ms, mark = self._clock.monotonic_us() // 1000, self._quiet.mark(topic)
        if not is_again and self._listener.is_heard and self._quiet.is_quiet(topic, group, now_ms=now_ms):
            return []
        keys = self._names.topic(topic).group(group).all()
        is_foreign = int(topic in self._names.foreign)
        arguments = (group, owner, limit, lease_ms, self._now(), number, int(is_again), SCAN_RECORDS_MAX, is_foreign)
        try:
            due_in_ms, gaps, flat = await self._server.run("claim", keys, arguments, is_safe=False)
        except OutcomeUnknown:
            self._unsure[me] = number
            raise
        self._unsure.pop(me, None)
        fault("claim.after")
        if not flat:
            self._quiet.note_empty(topic, group, mark, now_ms=now_ms, due_in_ms=due_in_ms)
        deliveries, gone = read_claimed(topic, group, owner, flat, field=self._names.field_of(topic))
        await self._tell_lost(topic, group, gaps, gone)
        deliveries.sort(key=lambda delivery: delivery.lease.offset)
        return deliveries

    async def accept(self, leases: Sequence[Lease], *, then: Sequence[tuple[str, NewRecord]] = ()) -> list[bool]:
        """End records for good; with `then`, all or nothing."""
        fault("accept.before")
        accepted = await self._settle(leases, then) if then else await self._each_group("accept", leases)
        fault("accept.after")
        return accepted

    async def release(self, leases: Sequence[Lease], *, delay_ms: int = 0, counted: bool = True) -> list[bool]:
        """Give records back, to be delivered again after `delay_ms`."""
        now = self._now()

        def arguments(topic: str) -> list[object]:
            return [now, delay_ms, int(counted), self._channel, topic]

        released = await self._each_group("release", leases, arguments)
        self._ring(lease.topic for lease in leases)
        return released

    async def reject(self, lease: Lease, diagnosis: Diagnosis) -> Rejected:
        """Write a dead letter and accept the record in one step; idempotent."""
        return await self._letters.reject(lease, diagnosis, now=self._now())

    async def renew(self, leases: Sequence[Lease], *, lease_ms: int) -> list[bool]:
        """Extend leases to `lease_ms` from now; False where ownership is lost."""
        now = self._now()
        return await self._each_group("renew", leases, lambda topic: [now, lease_ms])

    async def reclaim(self, *, me: str) -> int:
        """Free the leases of owners of this host that are dead; now and then trim what is done with, too."""
        freed = await self.upkeep.free_dead(await self.topics(), me=me, now=self._now())
        self._ring(freed)
        now_ms = self._clock.monotonic_us() // 1000
        if now_ms >= self._upkeep_at_ms:
            self._upkeep_at_ms = now_ms + UPKEEP_MS
            topics = sorted(self._claimed | self._retention.lossy_topics)
            await self.upkeep.run(topics, now=self._now(), now_ms=now_ms)
        return len(freed)

    async def lag(self, topic: str, group: str) -> Lag:
        """Return how far the group is behind."""
        keys = self._names.topic(topic)
        return Lag(*await self._server.run("lag", [*keys.group(group).all(), keys.delayed], (group, self._now())))

    async def partitions(self, topic: str, group: str) -> list[PartitionLag]:
        """Return how far the group is behind: one entry."""
        keys = self._names.topic(topic)
        newest = await self._server.do("XREVRANGE", keys.stream, "+", "-", "COUNT", 1)
        if not newest and not await self._server.do("EXISTS", keys.stream):
            return []
        cursor = offset_of(await self._server.do("HGET", keys.group(group).state, "cursor") or b"0-0")
        end = max(cursor, offset_of(newest[0][0]) if newest else 0)
        lag = await self.lag(topic, group)
        open_count = lag.in_flight + lag.waiting
        return [PartitionLag(partition=0, position=cursor, end=end, undelivered=lag.undelivered, open_count=open_count)]

    async def seek(self, topic: str, group: str, to: SeekTo, *, is_preview: bool = False) -> Sought:
        """Have the group get every record from a place on and none below, but for those under a lease."""
        again, skipped = await self._seeking.seek(topic, group, to, now=self._now(), is_preview=is_preview)
        if not is_preview:
            self._ring([topic])
            await self._server.do("PUBLISH", self._channel, topic)
        return Sought(again, skipped, (await self.lag(topic, group)).in_flight)

    async def end(self, topic: str) -> int:
        """Return the number of records ever appended to the topic."""
        keys = self._names.topic(topic)
        last, base = await self._server.do("HMGET", keys.meta, "last", "base")
        if last is not None or not await self._server.do("EXISTS", keys.stream):
            return int(last or 0) - int(base or 0)
        info = await self._server.do("XINFO", "STREAM", keys.stream)
        return int(dict(zip(info[::2], info[1::2], strict=True))[b"entries-added"])

    async def topics(self) -> list[str]:
        """Return the names of all topics, sorted."""
        known = {name.decode() for name in await self._server.do("SMEMBERS", self._topics_key)}
        names = sorted(known.union(self._names.foreign))
        # A topic is made known before its first record is appended.
        exist = await self._server.do_all([("EXISTS", self._names.topic(name).stream) for name in names])
        return [name for name, exists in zip(names, exist, strict=True) if exists]

    async def read_all(
        self, topic: str, *, after: int = 0, until_end: bool = True
    ) -> AsyncIterator[list[StoredRecord]]:
        """Yield batches of records with offset > `after`, oldest first, without leases."""
        stream, field = self._names.topic(topic).stream, self._names.field_of(topic)
        while True:
            self._bells.look(topic)
            entries = await self._server.do("XRANGE", stream, f"({place_of(after)}", "+", "COUNT", RECORDS_PER_BATCH)
            if entries:
                batch = [stored_of(topic, entry, field=field) for entry in entries]
                after = batch[-1].offset
                yield batch
            elif until_end:
                return
            else:
                await self.wait([topic], timeout_ms=POLL_MS_MAX)

    async def trim(self, topic: str, *, upto: int) -> int:
        """Delete records with offset <= `upto` that every group has accepted; none while no group has claimed."""
        return await self.upkeep.trim(topic, upto=upto)

    async def trimmed(self, topic: str) -> int:
        """Return how many records of the topic were trimmed so far."""
        return int(await self._server.do("HGET", self._names.topic(topic).meta, "trimmed") or 0)

    async def dead_letters(
        self, *, topic: str = "", group: str = "", after: int = 0, limit: int = 100, has_values: bool = True
    ) -> list[DeadLetter]:
        """Return open dead letters with a higher id than `after`, oldest first."""
        check_limit(limit)
        topics = [topic] if topic else await self.topics()
        return await self._letters.list_open(topics, group=group, after=after, limit=limit, has_values=has_values)

    async def requeue(self, dead_letter_id: int) -> bool:
        """Make a dead letter a record again, for its group alone, with a fresh budget."""
        topic = await self._close_letter(dead_letter_id, is_requeued=True)
        self._ring([topic] if topic else [])
        return topic is not None

    async def drop(self, dead_letter_id: int) -> bool:
        """Close a dead letter for good; its record can be trimmed."""
        return await self._close_letter(dead_letter_id, is_requeued=False) is not None

    async def wait(self, topics: Sequence[str], *, timeout_ms: int) -> None:
        """Return when one of the topics may have claimable records, or after `timeout_ms`; looks every second."""
        self._listener.start()
        await self._bells.wait(topics, timeout_ms=min(timeout_ms, POLL_MS_MAX))

    async def hold_of(self, topic: str, group: str, offset: int) -> Hold | None:
        """Return where a record stands for a group, None where the group is done with it or it is gone."""
        keys = self._names.topic(topic).group(group).all()
        found = await self._server.run("look", keys, (place_of(offset),))
        return Hold(found[0].decode(), found[1], found[2]) if found else None

    async def has_open_before(self, topic: str, group: str, *, key: str, offset: int) -> bool:
        """Whether the group is not done with an earlier record of this key; looks at all that it has under way."""
        keys = self._names.topic(topic).group(group).all()
        return bool(await self._server.run("before", keys, (place_of(offset), key)))

    async def close(self) -> None:
        """Close all connections; safe to call twice."""
        await self._listener.close()
        await self._server.close()

    def _ring(self, topics: Iterable[str]) -> None:
        rung = set(topics)
        self._bells.ring(rung)
        for topic in rung:
            self._quiet.ring(topic)

    def _ring_all(self) -> None:
        self._bells.ring_all()
        self._quiet.ring_all()

    def _now(self) -> str:
        return "" if self._is_server_time else str(self._clock.now_ms())

    async def _register(self, topic: str) -> None:
        if topic in self._names.foreign:
            raise UsageError("topic that somebody else writes", value=topic, advice="take it out of log.foreign")
        if topic not in self._registered:
            await self._server.do("SADD", self._topics_key, topic)
            self._registered.add(topic)

    async def _each_group(
        self, script: str, leases: Sequence[Lease], arguments: Callable[[str], list[object]] = lambda topic: []
    ) -> list[bool]:
        """Run a script for the leases of each group and return one answer a lease."""
        if not leases:
            return []
        by_group: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        for index, lease in enumerate(leases):
            by_group[lease.topic, lease.group].append(index)
        answers = [False] * len(leases)
        for (topic, group), indexes in by_group.items():
            keys = self._names.topic(topic).group(group).all()
            packed = pack_leases([leases[index] for index in indexes])
            found = await self._server.run(script, keys, (group, *arguments(topic), packed))
            for index, answer in zip(indexes, found, strict=True):
                answers[index] = bool(answer)
        return answers

    async def _settle(self, leases: Sequence[Lease], then: Sequence[tuple[str, NewRecord]]) -> list[bool]:
        check_records([record for _, record in then])
        groups = {key: number for number, key in enumerate(dict.fromkeys((one.topic, one.group) for one in leases))}
        topics = {topic: number for number, topic in enumerate(dict.fromkeys(topic for topic, _ in then))}
        keys: list[str] = []
        for topic, group in groups:
            keys += self._names.topic(topic).group(group).all()
        for topic in topics:
            await self._register(topic)
            names = self._names.topic(topic)
            keys += (names.stream, names.meta, names.delayed)
        flat: list[object] = [self._now(), self._channel, len(groups), len(leases)]
        for lease in leases:
            number = groups[lease.topic, lease.group]
            flat += (number, lease.group, place_of(lease.offset), lease_text(lease))
        for topic, record in then:
            flat += (topics[topic], topic, *pack_records([record]))
        is_done = bool(await self._server.run("settle", keys, flat))
        self._ring(topics)
        return [is_done] * len(leases)

    async def _tell_lost(self, topic: str, group: str, gaps: Sequence[Any], vanished: Sequence[Lease]) -> None:
        """Have dead letters written for what others deleted; it is counted already, and does not hold up the rest."""
        if not gaps and not vanished:
            return
        runs = [(int(first), int(last)) for first, last in gaps]
        lost = sum(last - first + 1 for first, last in runs) + len(vanished)
        _log.warning("records vanished", topic=topic, group=group, lost=lost)
        try:
            if topic not in self._retention.lossy_topics:
                await self._letters.bury(topic, group, runs, now=self._now())
            for lease in vanished:
                await self.reject(lease, VANISHED)
        except Unavailable as error:
            _log.warning("lost records cannot be told", topic=topic, group=group, error=str(error))

    async def _close_letter(self, number: int, *, is_requeued: bool) -> str | None:
        return await self._letters.close(await self.topics(), number, is_requeued=is_requeued, now=self._now())
