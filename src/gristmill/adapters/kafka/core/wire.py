"""How records, their copies and dead letters are written into Kafka's keys and headers.

The value is the record's own, byte for byte. Headers of ours begin with `gm-`:

    gm-due          not before this time, UTC epoch in ms
    gm-origin       topic/partition/offset of the record that a copy stands for
    gm-attempt      attempts before the copy was written
    gm-generation   how often it was brought back from the dead letters
    gm-first-seen   when the record entered the log, UTC epoch in ms
    gm-dedup        row of an outbox that the record stands for; it may be in the topic more than once
    gm-dead         JSON of a dead letter, without its value
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from gristmill.adapters.kafka.core.book import Fetched, Held
from gristmill.adapters.kafka.core.naming import pack_offset, unpack_offset
from gristmill.domain.log import DeadLetter, Diagnosis, Lease

__all__ = ["DEDUP", "DUE", "ToWrite", "dead_key", "read_dead", "read_record", "write_again", "write_copy", "write_dead"]

DUE = "gm-due"
ORIGIN = "gm-origin"
ATTEMPT = "gm-attempt"
GENERATION = "gm-generation"
FIRST_SEEN = "gm-first-seen"
DEDUP = "gm-dedup"
DEAD = "gm-dead"
_OURS = {DUE, ORIGIN, ATTEMPT, GENERATION, FIRST_SEEN, DEDUP, DEAD}

RawHeaders = Sequence[tuple[str, bytes | str | None]]


class ToWrite(msgspec.Struct, frozen=True, gc=False):
    """One record as Kafka takes it.

    Attributes:
        value: None closes a key of a compacted topic.
        partition: None lets the key decide.
    """

    topic: str
    value: bytes | None
    key: str
    headers: dict[str, str]
    at_ms: int
    partition: int | None = None


class _Dead(msgspec.Struct, frozen=True):
    topic: str
    group: str
    offset: int
    generation: int
    key: str
    attempt: int
    diagnosis: Diagnosis
    failed_at_ms: int


def read_record(
    partition: tuple[str, int],
    kafka_offset: int,
    *,
    value: bytes | None,
    key: bytes | None,
    headers: RawHeaders,
    at_ms: int,
    is_copy: bool,
    is_foreign: bool = False,
) -> Fetched | None:
    """Read what came from a topic or a retry topic; None for a copy without origin: nobody here wrote it.

    On a foreign topic headers that look like ours mean nothing and are left out.
    """
    plain, ours = _split(headers)
    if is_foreign:
        ours = {}
    fetched = Fetched(
        partition,
        kafka_offset,
        pack_offset(kafka_offset, partition[1]),
        value or b"",
        _text(key),
        plain,
        at_ms,
        due_at_ms=_number(ours.get(DUE)),
        is_copy=is_copy,
        outbox_id=ours.get(DEDUP, ""),
    )
    if is_copy:
        *_, origin_partition, origin_offset = ["", *ours.get(ORIGIN, "/").split("/")]
        if not (origin_partition.isdigit() and origin_offset.isdigit()):
            return None
        fetched.origin = pack_offset(int(origin_offset), int(origin_partition))
        fetched.attempt = _number(ours.get(ATTEMPT))
        fetched.generation = _number(ours.get(GENERATION))
        fetched.appended_at_ms = _number(ours.get(FIRST_SEEN)) or at_ms
    return fetched


def write_copy(held: Held, retry_topic: str, *, topic: str, due_at_ms: int, now_ms: int) -> ToWrite:
    """Return the copy of a record that comes again."""
    fetched = held.fetched
    headers = _copy_headers(
        topic, fetched.origin, attempt=held.attempt, generation=fetched.generation, first_seen_ms=fetched.appended_at_ms
    )
    headers = {**fetched.headers, **headers, DUE: str(due_at_ms)}
    return ToWrite(retry_topic, fetched.value, fetched.key, headers, now_ms)


def write_again(letter: DeadLetter, retry_topic: str, *, now_ms: int) -> ToWrite:
    """Return the copy of a dead letter that is tried again with a fresh budget."""
    headers = _copy_headers(
        letter.topic, letter.offset, attempt=0, generation=letter.generation + 1, first_seen_ms=letter.failed_at_ms
    )
    return ToWrite(retry_topic, letter.value, letter.key, {**letter.headers, **headers}, now_ms)


def dead_key(topic: str, group: str, *, offset: int, generation: int) -> str:
    """Return the key under which the topic of dead letters keeps one of them, however often it is written."""
    kafka_offset, partition = unpack_offset(offset)
    return f"{topic}/{partition}/{kafka_offset}|{group}|{generation}"


def write_dead(lease: Lease, held: Held, diagnosis: Diagnosis, dead_topic: str, *, now_ms: int) -> ToWrite:
    """Return the dead letter of a record."""
    fetched = held.fetched
    letter = _Dead(
        lease.topic, lease.group, lease.offset, fetched.generation, fetched.key, held.attempt, diagnosis, now_ms
    )
    headers = {**fetched.headers, DEAD: msgspec.json.encode(letter).decode()}
    key = dead_key(lease.topic, lease.group, offset=lease.offset, generation=fetched.generation)
    return ToWrite(dead_topic, fetched.value, key, headers, now_ms, partition=0)


def read_dead(dead_letter_id: int, *, value: bytes, headers: RawHeaders) -> DeadLetter | None:
    """Read a dead letter; None for what nobody here wrote."""
    plain, ours = _split(headers)
    try:
        dead = msgspec.json.decode(ours.get(DEAD, ""), type=_Dead)
    except msgspec.DecodeError:
        return None
    return DeadLetter(
        dead_letter_id,
        dead.topic,
        dead.group,
        dead.offset,
        dead.generation,
        value,
        dead.key,
        plain,
        dead.attempt,
        dead.diagnosis,
        dead.failed_at_ms,
    )


def _copy_headers(topic: str, origin: int, *, attempt: int, generation: int, first_seen_ms: int) -> dict[str, str]:
    kafka_offset, partition = unpack_offset(origin)
    return {
        ORIGIN: f"{topic}/{partition}/{kafka_offset}",
        ATTEMPT: str(attempt),
        GENERATION: str(generation),
        FIRST_SEEN: str(first_seen_ms),
    }


def _split(headers: RawHeaders) -> tuple[dict[str, str], Mapping[str, str]]:
    plain: dict[str, str] = {}
    ours: dict[str, str] = {}
    for name, raw in headers:
        value = raw if isinstance(raw, str) else _text(raw)
        (ours if name in _OURS else plain)[name] = value
    return plain, ours


def _text(raw: bytes | None) -> str:
    # Foreign producers write what they like; a key that is no text still tells one from another.
    return raw.decode(errors="backslashreplace") if raw else ""


def _number(text: str | None) -> int:
    return int(text) if text and text.isdigit() else 0
