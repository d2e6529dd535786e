"""Dead letters on one server: their numbers grow over all topics, each lies beside its topic.

A letter holds what is known of the failure; the record itself stays in the stream, which is not trimmed there while the
letter is open. A record that somebody else deleted has a letter too, without a value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import msgspec

from gristmill.adapters.redis.places import KeyNames, TopicKeys, offset_of, place_of
from gristmill.adapters.redis.records import Parts, lease_text, letter_parts
from gristmill.adapters.redis.server import RedisServer
from gristmill.domain.log import DeadLetter, Diagnosis, Lease, Rejected

__all__ = ["RedisLetters"]

SEEN_MAX = 10_000
"""Rejects that a topic remembers, to answer a repeated one."""

GAPS_MAX = 100
"""Letters that one claim writes for records that vanished unread; all are counted."""

_diagnosis_encoder = msgspec.json.Encoder()
_diagnosis_decoder = msgspec.json.Decoder(Diagnosis)


class RedisLetters:
    """Writes, lists and closes dead letters."""

    def __init__(self, server: RedisServer, names: KeyNames, channel: str) -> None:
        self._server = server
        self._names = names
        self._channel = channel
        self._counter = f"{names.prefix}letters"

    async def reject(self, lease: Lease, diagnosis: Diagnosis, *, now: str) -> Rejected:
        """Write a letter and accept the record in one step."""
        keys = self._names.topic(lease.topic)
        number = await self._next_number()
        names = [*keys.group(lease.group).all(), keys.letter(number), *_letter_keys(keys), keys.letters_seen]
        told = _diagnosis_encoder.encode(diagnosis)
        place = place_of(lease.offset)
        arguments = (lease.group, place, lease_text(lease), now, number, told, SEEN_MAX)
        answer: bytes = await self._server.run("reject", names, arguments)
        return cast(Rejected, answer.decode())

    async def bury(self, topic: str, group: str, gaps: Sequence[tuple[int, int]], *, now: str) -> None:
        """Write a letter for each run of records that vanished before the group has read them."""
        keys = self._names.topic(topic)
        for first, last in gaps[:GAPS_MAX]:
            number = await self._next_number()
            text = f"records {first} to {last} were deleted before the group has read them"
            told = _diagnosis_encoder.encode(Diagnosis("vanished", text))
            names = [keys.group(group).state, keys.letter(number), *_letter_keys(keys)]
            await self._server.run("bury", names, (group, place_of(first), now, number, told), is_safe=False)

    async def list_open(
        self, topics: Sequence[str], *, group: str, after: int, limit: int, has_values: bool
    ) -> list[DeadLetter]:
        """Return open letters of topics, oldest first."""
        letters: list[DeadLetter] = []
        while len(letters) < limit:
            page = await self._numbers(topics, after=after, limit=limit)
            letters += await self._read(page, group=group, has_values=has_values)
            if len(page) < limit:
                break
            after = page[-1][0]
        return letters[:limit]

    async def close(self, topics: Sequence[str], number: int, *, is_requeued: bool, now: str) -> str | None:
        """Close an open letter and return its topic, None if there is none."""
        owner = await self._find(topics, number)
        if owner is None:
            return None
        topic, group = owner
        keys = self._names.topic(topic)
        names = [*keys.group(group).all(), keys.letter(number), *_letter_keys(keys)]
        arguments = (number, int(is_requeued), now, self._channel, topic)
        is_closed = await self._server.run("close", names, arguments, is_safe=False)
        return topic if is_closed else None

    async def _next_number(self) -> int:
        number: int = await self._server.do("INCR", self._counter)
        return number

    async def _numbers(self, topics: Sequence[str], *, after: int, limit: int) -> list[tuple[int, str]]:
        """Return the lowest numbers above `after` with their topics."""
        commands = [
            ("ZRANGEBYSCORE", self._names.topic(topic).letters_open, f"({after}", "+inf", "LIMIT", 0, limit)
            for topic in topics
        ]
        found = await self._server.do_all(commands)
        numbers = [(int(number), topic) for topic, part in zip(topics, found, strict=True) for number in part]
        return sorted(numbers)[:limit]

    async def _read(self, page: Sequence[tuple[int, str]], *, group: str, has_values: bool) -> list[DeadLetter]:
        keys = [(number, topic, self._names.topic(topic)) for number, topic in page]
        answers = await self._server.do_all([("HGETALL", each.letter(number)) for number, _, each in keys])
        wanted = []
        for (number, topic, each), flat in zip(keys, answers, strict=True):
            # Closed by somebody between the two looks: it has no fields any more.
            fields = {name.decode(): value for name, value in zip(flat[::2], flat[1::2], strict=True)}
            if fields and group in ("", fields["group"].decode()):
                wanted.append((number, topic, each.stream, fields))
        places = [fields["id"].decode() for _, _, _, fields in wanted]
        commands = [("XRANGE", one[2], place, place) for one, place in zip(wanted, places, strict=True)]
        entries = await self._server.do_all(commands)
        letters = [
            _letter(*one, letter_parts(found, field=self._names.field_of(one[1])))
            for one, found in zip(wanted, entries, strict=True)
        ]
        return letters if has_values else [msgspec.structs.replace(letter, value=b"") for letter in letters]

    async def _find(self, topics: Sequence[str], number: int) -> tuple[str, str] | None:
        keys = [self._names.topic(topic) for topic in topics]
        groups = await self._server.do_all([("HGET", each.letter(number), "group") for each in keys])
        return next(((topic, group.decode()) for topic, group in zip(topics, groups, strict=True) if group), None)


def _letter_keys(keys: TopicKeys) -> tuple[str, str]:
    return keys.letters_open, keys.letters_by_record


def _letter(number: int, topic: str, stream: str, fields: dict[str, bytes], parts: Parts) -> DeadLetter:
    value, key, headers, _ = parts
    return DeadLetter(
        dead_letter_id=number,
        topic=topic,
        group=fields["group"].decode(),
        offset=offset_of(fields["id"]),
        generation=int(fields["generation"]),
        value=value,
        key=key,
        headers=headers,
        attempt=int(fields["attempt"]),
        diagnosis=_diagnosis_decoder.decode(fields["diagnosis"]),
        failed_at_ms=int(fields["failed_at_ms"]),
    )
