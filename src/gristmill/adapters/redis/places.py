"""Names of keys, and how a place in a stream becomes an offset.

All keys of a topic share the hash tag `{topic}`, so that they live in one slot. `<prefix>{topic}` is the stream itself;
what lies beside it is named after what it holds. A stream that somebody else writes has a key of its own choice.

An offset is an integer, a place in a stream a pair of a time (or number) and a sequence. Streams that we write have
places that follow one another, such as 41-0, 42-0, 43-0, and the first number is the offset. In streams that others
write the place begins with milliseconds; both parts are packed above bit 62, which keeps their order and cannot be
taken for one of ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import msgspec

__all__ = ["GroupKeys", "KeyNames", "TopicKeys", "offset_of", "place_of"]

SEQUENCE_BITS = 20
SEQUENCE_MASK = (1 << SEQUENCE_BITS) - 1
FOREIGN = 1 << 62
DENSE_MAX = 1 << 40
PLACE_CHARS = 15
"""A place is padded to so many characters, so that places sort as text; scripts pad alike."""


def offset_of(place: bytes | str) -> int:
    """Return the offset of a place in a stream."""
    text = place.decode() if isinstance(place, bytes) else place
    if text[-2:] == "-0" and (dense := int(text[:-2])) < DENSE_MAX:
        return dense
    number, _, sequence = text.partition("-")
    return FOREIGN | int(number) << SEQUENCE_BITS | min(int(sequence), SEQUENCE_MASK)


def place_of(offset: int) -> str:
    """Return the place of an offset, padded; of a negative one the place before all."""
    if 0 <= offset < FOREIGN:
        return f"{offset:013d}-0"
    if offset < 0:
        return place_of(0)
    rest = offset & ~FOREIGN
    return f"{rest >> SEQUENCE_BITS}-{rest & SEQUENCE_MASK}".zfill(PLACE_CHARS)


class KeyNames(msgspec.Struct, frozen=True):
    """The names that a log with this prefix uses.

    Attributes:
        foreign: streams that somebody else writes, by their keys, with the field whose bytes are the record; an empty
            one takes all fields together.
    """

    prefix: str
    foreign: Mapping[str, str] = MappingProxyType({})

    def topic(self, topic: str) -> TopicKeys:
        """Return the keys of a topic."""
        keys = TopicKeys.of(self.prefix, topic)
        return msgspec.structs.replace(keys, stream=topic) if topic in self.foreign else keys

    def field_of(self, topic: str) -> str | None:
        """Return the field of a foreign topic that is the record, empty for all of them; None for topics of ours."""
        return self.foreign.get(topic)


class TopicKeys(msgspec.Struct, frozen=True):
    """Keys of one topic; all but the stream begin with `beside`."""

    stream: str
    beside: str
    meta: str
    delayed: str
    letters_open: str
    letters_by_record: str
    letters_seen: str

    @classmethod
    def of(cls, prefix: str, topic: str) -> TopicKeys:
        """Return the keys of a topic."""
        stream = f"{prefix}{{{topic}}}"
        dead = f"{stream}:dead"
        return cls(stream, stream, f"{stream}:meta", f"{stream}:delayed", dead, f"{dead}:records", f"{dead}:seen")

    def letter(self, dead_letter_id: int) -> str:
        """Return the key of a dead letter."""
        return f"{self.letters_open}:{dead_letter_id}"

    def token(self, token: str) -> str:
        """Return the key that remembers an append."""
        return f"{self.beside}:token:{token}"

    def marker(self, outbox_id: str) -> str:
        """Return the key that says where a row of an outbox stands."""
        return f"{self.beside}:ob:{outbox_id}"

    def group(self, group: str) -> GroupKeys:
        """Return the keys of a group on this topic."""
        start = f"{self.beside}:group:{group}"
        return GroupKeys(self.stream, self.meta, start, f"{start}:held", f"{start}:leased", f"{start}:waiting")


class GroupKeys(msgspec.Struct, frozen=True):
    """Keys of a topic in a group, in the order in which scripts take them."""

    stream: str
    meta: str
    state: str
    held: str
    leased: str
    waiting: str

    def all(self) -> tuple[str, ...]:
        """Return them in order."""
        return (self.stream, self.meta, self.state, self.held, self.leased, self.waiting)
