"""Reads raw content events: JSON objects whose names a deployment may map, since every platform has its own."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from gristmill.domain.errors import DataError

__all__ = ["Medium", "RawEvent", "RawMapping", "read_raw"]

UINT64_MAX = 2**64 - 1
SECONDS_MAX = 100_000_000_000
"""A time below it is in seconds, from it on in milliseconds: as milliseconds it is a day of 1973."""

MS_MAX = 4_294_967_295_999
"""Latest time that fits a frame."""


class RawMapping(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where in a raw event its values stand: names with points between them, from the outside in."""

    kind: str = "event"
    item: str = "item_id"
    author: str = "author_id"
    created_at: str = "created_at"
    in_reply_to_item: str = "in_reply_to_item"
    in_reply_to_author: str = "in_reply_to_author"
    is_reply: str = "is_reply"
    is_repost: str = "is_repost"
    source_item: str = "source_item"
    source_author: str = "source_author"
    conversation: str = "conversation_id"
    unlisted: str = "unlisted"
    media: str = "media"
    medium_type: str = "type"
    medium_duration_ms: str = "duration_ms"
    tag: str = "tag"
    quoting_item: str = "quoting_item_id"
    reason: str = "reason_code"
    set: str = "set"
    clear: str = "clear"


class Medium(msgspec.Struct, frozen=True):
    """One picture, video or animation of an item; `duration_ms` is None where nobody knows it."""

    type: str
    duration_ms: int | None


class RawEvent(msgspec.Struct, frozen=True, kw_only=True):
    """A raw event as it was read; what is required of it depends on its kind."""

    kind: str
    item: int = 0
    author: int | None = None
    created_ms: int | None = None
    answered_item: int = 0
    answered_author: int = 0
    is_reply: bool = False
    is_repost: bool = False
    source_item: int = 0
    source_author: int = 0
    conversation: int = 0
    is_unlisted: bool = False
    media: tuple[Medium, ...] = ()
    tag: int = 0
    quoting_item: int = 0
    reason: int = 0
    set: int = 0
    clear: int = 0


def read_raw(value: bytes, mapping: RawMapping) -> RawEvent:
    """Return a raw event.

    Raises:
        DataError: it is no JSON object, or a value is no id, time or number of its range.
    """
    try:
        document = msgspec.json.decode(value)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise DataError("raw event is no JSON", value=str(error)) from None
    if not isinstance(document, dict):
        raise DataError("raw event is no object", value=type(document).__name__)
    reader = _Reader(document)
    return RawEvent(
        kind=str(reader.find(mapping.kind)),
        item=reader.number(mapping.item),
        author=reader.try_number(mapping.author),
        created_ms=reader.time(mapping.created_at),
        answered_item=reader.number(mapping.in_reply_to_item),
        answered_author=reader.number(mapping.in_reply_to_author),
        is_reply=bool(reader.find(mapping.is_reply)),
        is_repost=bool(reader.find(mapping.is_repost)),
        source_item=reader.number(mapping.source_item),
        source_author=reader.number(mapping.source_author),
        conversation=reader.number(mapping.conversation),
        is_unlisted=bool(reader.find(mapping.unlisted)),
        media=_read_media(reader.find(mapping.media), mapping),
        tag=reader.number(mapping.tag, 0xFF),
        quoting_item=reader.number(mapping.quoting_item),
        reason=reader.number(mapping.reason, 0xFFFF),
        set=reader.number(mapping.set, 0xFFFF),
        clear=reader.number(mapping.clear, 0xFFFF),
    )


class _Reader:
    """Finds values of a document by their paths."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document

    def find(self, path: str) -> Any:
        """Return what stands at a path, None where nothing does."""
        found: Any = self._document
        for name in path.split("."):
            found = found.get(name) if isinstance(found, dict) else None
        return found

    def number(self, path: str, number_max: int = UINT64_MAX) -> int:
        """Return a number, 0 where nothing stands there."""
        return self.try_number(path, number_max) or 0

    def try_number(self, path: str, number_max: int = UINT64_MAX) -> int | None:
        """Return a number, None where nothing stands there; text of digits counts."""
        found = self.find(path)
        if found is None:
            return None
        is_digits = isinstance(found, str) and found.isascii() and found.isdecimal() and len(found) <= 20
        number = int(found) if is_digits else found
        if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number <= number_max:
            raise DataError(f"{path} of a raw event", value=found, advice=f"a whole number up to {number_max}")
        return number

    def time(self, path: str) -> int | None:
        """Return a time in milliseconds: from seconds, milliseconds, or RFC 3339 with its zone."""
        found = self.find(path)
        if isinstance(found, str) and not found.isdecimal():
            time_ms: int | None = _read_date(path, found)
        elif isinstance(found, float):
            time_ms = int(found * 1_000) if abs(found) < SECONDS_MAX else MS_MAX + 1
        else:
            number = self.try_number(path)
            time_ms = number * 1_000 if number is not None and number < SECONDS_MAX else number
        if time_ms is not None and not 0 <= time_ms <= MS_MAX:
            raise DataError(f"{path} of a raw event", value=found, advice="a time from 1970 to 2106")
        return time_ms


def _read_date(path: str, text: str) -> int:
    try:
        date = datetime.fromisoformat(text)
    except ValueError:
        date = None
    if date is None or date.tzinfo is None:
        raise DataError(f"{path} of a raw event", value=text, advice="seconds, milliseconds or RFC 3339 with a zone")
    return round(date.timestamp() * 1_000)


def _read_media(found: Any, mapping: RawMapping) -> tuple[Medium, ...]:
    if not isinstance(found, list):
        return ()
    readers = [_Reader(one if isinstance(one, dict) else {}) for one in found]
    return tuple([Medium(str(one.find(mapping.medium_type)), _duration_of(one, mapping)) for one in readers])


def _duration_of(medium: _Reader, mapping: RawMapping) -> int | None:
    found = medium.find(mapping.medium_duration_ms)
    return int(found) if isinstance(found, (int, float)) and not isinstance(found, bool) else None
