"""Dead letters: one compacted topic with one partition, so that offsets number the letters of all groups.

Written again under its key a letter stays one; an empty value under the key closes it. The index of open letters is
built by reading the topic once and then what has been added since; values are read when they are asked for.
"""

from __future__ import annotations

import asyncio

import msgspec
from confluent_kafka import Message

from gristmill.adapters.kafka.admin import TopicAdmin
from gristmill.adapters.kafka.core.wire import ToWrite, read_dead
from gristmill.adapters.kafka.producing import RecordProducer
from gristmill.adapters.kafka.reading import TopicReader
from gristmill.adapters.kafka.settings import KafkaSettings
from gristmill.domain.log import DeadLetter

__all__ = ["DeadLetters"]


class DeadLetters:
    """The open dead letters of the log, as far as its topic is read."""

    def __init__(self, topic: str, settings: KafkaSettings, admin: TopicAdmin, producer: RecordProducer) -> None:
        self._topic = topic
        self._admin = admin
        self._producer = producer
        self._reader = TopicReader(settings)
        self._at = 0
        self._keys: dict[str, int] = {}
        self._open: dict[int, tuple[str, DeadLetter]] = {}
        self._lock = asyncio.Lock()

    async def write(self, letter: ToWrite) -> None:
        """Write a dead letter; durable once returned."""
        await self._admin.make_dead(self._topic)
        await self._producer.write([letter])

    async def open_letters(self, *, topic: str = "", group: str = "") -> list[DeadLetter]:
        """Return open letters without their values, oldest first; an empty name stands for all."""
        async with self._lock:
            await self._catch_up()
            return [
                letter
                for _, letter in self._open.values()
                if topic in ("", letter.topic) and group in ("", letter.group)
            ]

    async def with_values(self, letters: list[DeadLetter]) -> list[DeadLetter]:
        """Return the letters with their values; those that were closed meanwhile are left out."""
        found: list[DeadLetter] = []
        async with self._lock:
            for letter in letters:
                offset = letter.dead_letter_id - 1
                async for messages in self._reader.read(self._topic, starts={0: offset}, ends={0: offset + 1}):
                    found += [msgspec.structs.replace(letter, value=one.value() or b"") for one in messages]
        return found

    async def find(self, dead_letter_id: int) -> DeadLetter | None:
        """Return an open letter with its value."""
        async with self._lock:
            await self._catch_up()
            known = self._open.get(dead_letter_id)
        if known is None:
            return None
        return next(iter(await self.with_values([known[1]])), None)

    async def close_letter(self, dead_letter_id: int, *, now_ms: int) -> bool:
        """Close an open letter for good; False if there is none."""
        async with self._lock:
            await self._catch_up()
            known = self._open.get(dead_letter_id)
            if known is None:
                return False
            await self._producer.write([ToWrite(self._topic, None, known[0], {}, now_ms, partition=0)])
            await self._catch_up()
            return True

    async def close(self) -> None:
        """Let go of the connection."""
        await self._reader.close()

    async def _catch_up(self) -> None:
        ends = await self._admin.ends(self._topic)
        if not ends:
            return
        async for messages in self._reader.read(self._topic, starts={0: self._at}, ends={0: ends[0]}):
            for message in messages:
                self._note(message)
        self._at = max(self._at, ends[0])

    def _note(self, message: Message) -> None:
        offset, key = message.offset() or 0, (message.key() or b"").decode(errors="backslashreplace")
        if (known := self._keys.pop(key, None)) is not None:
            del self._open[known]
        value = message.value()
        if value is None:
            return
        letter = read_dead(offset + 1, value=b"", headers=message.headers() or [])  # type: ignore[arg-type]
        if letter is not None:
            self._keys[key] = letter.dead_letter_id
            self._open[letter.dead_letter_id] = (key, letter)
