"""Turns the raw bytes of one record into an item to be, or into the list of everything that is wrong with it. Pure.

A record is one JSON object in UTF-8. Which field is which is found by name (`intake.fields`) or given by a mapping;
everything else goes to `ext`. A record without an id gets the one that its position gives (`line-17`, `record-4711`).
The first name of a target (`id`, `text`, `author`, `created_at`, `kind`) and a mapped field are meant: a value of the
wrong type is a fault. Any other name is a guess: a value that does not fit stays in `ext`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import msgspec

from gristmill.domain.input_key import INPUT_ID_BYTES_MAX
from gristmill.domain.intake import MappedRecord, Violations
from gristmill.domain.item import freeze
from gristmill.intake.faults import find_byte_faults, find_escape_faults, find_value_faults, name_type
from gristmill.intake.fields import TARGETS, FieldMap, fold_name, read_path
from gristmill.intake.times import TimeUnreadable, parse_time_ms

__all__ = ["RecordMapper"]

TEXT_BYTES_MAX = 1024 * 1024
KIND_BYTES_MAX = 64
UTF8_BYTES_MAX = 4
"""Of one character: what is short enough in characters need not be encoded to be measured."""

KIND_DEFAULT = "post"
KIND_WITHOUT_TEXT = "image"
"""A picture may come without a word."""

LAYOUTS_MAX = 256
LAYOUT_CHARS_MAX = 2_048
"""Records of a source have the same few sets of field names; together these take at most a megabyte or two."""

NOTHING: Mapping[str, Any] = MappingProxyType({})

Layout = Mapping[str, Sequence[tuple[str, bool]]]
"""Target -> the fields that may fill it, best first, each with whether it is meant."""

AUTHOR_KEYS = ("id", "user_id", "username", "screen_name", "handle", "name")
"""Where an author that is an object keeps its id, best first."""


class RecordMapper:
    """Maps the records of one Source."""

    def __init__(self, fields: FieldMap, *, source: str, kind: str = KIND_DEFAULT) -> None:
        self._fields = fields
        self._source = source
        self._kind = kind
        self._layouts: dict[tuple[str, ...], Layout] = {}

    def map(self, raw: bytes, *, fallback_id: str, broken: str = "") -> MappedRecord | Violations:
        """Return the record mapped, or all its faults.

        Args:
            fallback_id: the id of a record that brings none.
            broken: a fault that the reader of the file has found already; the bytes are then not looked at further.
        """
        if broken:
            return _refuse([broken])
        faults = find_byte_faults(raw)
        if faults:
            return _refuse(faults)
        try:
            decoded = msgspec.json.decode(raw)
        except (msgspec.DecodeError, msgspec.ValidationError) as error:
            return _refuse([*find_escape_faults(raw), f"record: invalid JSON: {error}"])
        except RecursionError:
            return _refuse(["record: nested too deeply to be read"])
        if not isinstance(decoded, dict):
            return _refuse([f"record: expected a JSON object, got {name_type(decoded)}"])
        faults = find_value_faults(raw, decoded)
        reading = _Reading(self._fields, decoded, self._layout(decoded))
        input_id = reading.read_id(fallback_id)
        kind = reading.read_kind(self._kind)
        mapped = MappedRecord(
            input_id=input_id,
            kind=kind,
            source=self._source,
            text=reading.read_text(is_needed=kind != KIND_WITHOUT_TEXT),
            author=reading.read_author(),
            created_at_ms=reading.read_created_at_ms(),
            ext=reading.rest(),
        )
        faults += reading.faults
        return _refuse(faults) if faults else mapped

    def identify(self, raw: bytes, *, fallback_id: str) -> str:
        """Return the input id of a record as well as it can be told, even where the record is refused."""
        try:
            decoded = msgspec.json.decode(raw)
        except (msgspec.DecodeError, msgspec.ValidationError, RecursionError):
            return fallback_id
        if not isinstance(decoded, dict):
            return fallback_id
        return _Reading(self._fields, decoded, self._layout(decoded)).read_id(fallback_id)

    def _layout(self, record: dict[str, Any]) -> Layout:
        names = tuple(record)
        layout = self._layouts.get(names)
        if layout is None:
            layout = _lay_out(self._fields, names)
            if sum(map(len, names)) <= LAYOUT_CHARS_MAX:
                if len(self._layouts) >= LAYOUTS_MAX:
                    self._layouts.clear()
                self._layouts[names] = layout
        return layout


class _Reading:
    """One pass over one record: takes fields out and notes what is wrong with them."""

    def __init__(self, fields: FieldMap, record: dict[str, Any], layout: Layout) -> None:
        self._fields = fields
        self._record = record
        self._layout = layout
        self._used: set[str] = set()
        self.faults: list[str] = []

    def read_id(self, fallback_id: str) -> str:
        for name, value, meant in self._candidates("id"):
            if value is None or value == "":
                continue
            if isinstance(value, (str, int)) and not isinstance(value, bool):
                if len(text := str(value).strip()) > 0:
                    self._used.add(name)
                    return self._check_id(name, text)
                continue
            if meant:
                self._note(name, "text or a whole number", value)
                return fallback_id
        return fallback_id

    def read_text(self, *, is_needed: bool) -> str:
        misfits: list[tuple[str, Any]] = []
        empty = ""
        for name, value, _ in self._candidates("text"):
            if isinstance(value, str):
                if value.strip():
                    self._used.add(name)
                    return self._check_text(name, value)
                empty = empty or name
            elif value is not None:
                misfits.append((name, value))
        for name, value in misfits:
            self._note(name, "text", value)
        if not is_needed:
            return ""
        if empty:
            self.faults.append(f"{empty}: is empty")
        elif not misfits:
            wanted = self._fields.given.get("text", "")
            where = f"field {wanted!r}" if wanted else "in no field with a known name; map the right one: text=FIELD"
            self.faults.append(f"text: is missing or empty ({where})")
        return ""

    def read_author(self) -> str | None:
        for name, value, meant in self._candidates("author"):
            author = _author_of(value)
            if author is not None:
                if not isinstance(value, Mapping):
                    self._used.add(name)
                return author
            if meant and value is not None and value != "":
                self._note(name, "text or a number", value)
        return None

    def read_created_at_ms(self) -> int | None:
        for name, value, meant in self._candidates("created_at"):
            if value is None or value == "":
                continue
            try:
                at_ms = parse_time_ms(value)
            except TimeUnreadable as error:
                if meant:
                    self.faults.append(f"{name}: {error}")
                continue
            self._used.add(name)
            return at_ms
        return None

    def read_kind(self, default: str) -> str:
        for name, value, meant in self._candidates("kind"):
            if isinstance(value, str) and value.strip():
                if len(value.encode("utf-8", "replace")) > KIND_BYTES_MAX:
                    self.faults.append(f"{name}: longer than {KIND_BYTES_MAX} bytes")
                self._used.add(name)
                return value.strip()
            if meant and value is not None and value != "":
                self._note(name, "text", value)
        return default

    def rest(self) -> Mapping[str, Any]:
        rest = {name: value for name, value in self._record.items() if name not in self._used}
        frozen: Mapping[str, Any] = freeze(rest) if rest else NOTHING
        return frozen

    def _candidates(self, target: str) -> Sequence[tuple[str, Any, bool]]:
        known = self._layout.get(target)
        if known is None:
            given = self._fields.given[target]
            return [(given, read_path(self._record, given), True)]
        return [(name, self._record[name], meant) for name, meant in known] if known else ()

    def _check_id(self, name: str, text: str) -> str:
        if len(text) * UTF8_BYTES_MAX > INPUT_ID_BYTES_MAX < len(text.encode("utf-8", "replace")):
            self.faults.append(f"{name}: longer than {INPUT_ID_BYTES_MAX} bytes")
        return text

    def _check_text(self, name: str, text: str) -> str:
        if len(text) * UTF8_BYTES_MAX > TEXT_BYTES_MAX < len(text.encode("utf-8", "replace")):
            self.faults.append(f"{name}: larger than {TEXT_BYTES_MAX} bytes")
        return text

    def _note(self, name: str, expected: str, value: Any) -> None:
        self.faults.append(f"{name}: expected {expected}, got {name_type(value)}")


def _lay_out(fields: FieldMap, names: Sequence[str]) -> Layout:
    """Return which fields fill the targets that are found by name; those that are given are left out."""
    folded = {fold_name(name): name for name in reversed(names)}
    return {
        target: [(name, fold_name(name) == fold_name(target)) for name in fields.candidates(target, folded)]
        for target in TARGETS
        if target not in fields.given
    }


def _author_of(value: Any) -> str | None:
    if isinstance(value, Mapping):
        return next((found for key in AUTHOR_KEYS if (found := _author_of(value.get(key))) is not None), None)
    if isinstance(value, (str, int)) and not isinstance(value, bool):
        return str(value).strip() or None
    return None


def _refuse(faults: list[str]) -> Violations:
    return Violations(reason=faults[0], violations=tuple(dict.fromkeys(faults)))
