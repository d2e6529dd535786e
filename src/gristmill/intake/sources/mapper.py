"""Turns foreign records into items to be, the way a Source says. Pure; compiled once, safe for any JSON.

    decode -> identity -> map -> validate -> filter

Nothing stops at the first fault: what cannot be mapped and what the schema refuses are told together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from gristmill.domain.errors import ConfigError, DataError
from gristmill.domain.input_key import INPUT_ID_BYTES_MAX
from gristmill.domain.intake import LeftOut, MappedRecord, Violations
from gristmill.domain.item import freeze
from gristmill.intake.codecs import BadSchema, Codec, make_codec
from gristmill.intake.faults import find_byte_faults, find_escape_faults, find_value_faults
from gristmill.intake.sources.conversions import Convert, chain
from gristmill.intake.sources.definition import ConversionStep, FieldRule, SourceDefinition
from gristmill.intake.sources.filters import BadFilter, Declared, Filter, compile_filter
from gristmill.intake.sources.kinds import describe_fields, remaining_fields, required_fields, text_of
from gristmill.intake.sources.paths import Find, compile_path
from gristmill.intake.sources.validation import DocumentSchema, pointer

__all__ = ["CompiledRule", "SourceMapper", "compile_source"]

DELETED = "deleted"
REASON_BYTES, REASON_JSON, REASON_MAPPING, REASON_SCHEMA = "bytes", "json", "mapping", "schema"
REASON_DECODE = "decode"
"""Why a record is bad, in short; the violations say it in full."""

_bool, _int, _time, _text = (chain([ConversionStep(name)])[0] for name in ("bool", "int", "time", "text"))


class CompiledRule(NamedTuple):
    """A field rule, ready to run. `place` is where its value goes in the document."""

    rule: FieldRule
    find: Find
    convert: tuple[Convert, ...]
    place: tuple[str, ...]
    pointer: str


class _Identity(NamedTuple):
    input_id: str
    revision: int
    at_ms: int | None
    is_deleted: bool


def compile_source(definition: SourceDefinition, *, revision: int = 0, file: str = "") -> SourceMapper:
    """Make a definition ready to run.

    Args:
        revision: under which it was published; stands in events and in the quarantine.
        file: for messages.
    Raises:
        ConfigError: a filter or the schema of its records is not sound, or an extra is missing.
    """
    declared = _declare(definition)
    filters: list[Filter] = []
    for one in definition.filters:
        try:
            filters.append(compile_filter(one.drop, one.when, declared))
        except BadFilter as error:
            place = f"{file or definition.name}:{one.line}"
            raise ConfigError(f"{place}: filter {one.drop!r}: {error.problem}", advice=error.advice) from error
    return SourceMapper(definition, tuple(filters), revision, codec=_compile_codec(definition, file))


class SourceMapper:
    """One revision of a Source at work.

    Attributes:
        rules: as in the definition, in its order.
        filter_errors: how often each filter could not be judged, by its name.
    """

    def __init__(
        self, definition: SourceDefinition, filters: tuple[Filter, ...], revision: int, *, codec: Codec | None = None
    ) -> None:
        self.definition = definition
        self.revision = revision
        self.rules = tuple(_compile_rule(rule) for rule in definition.fields)
        self.filter_errors: Counter[str] = Counter()
        self._filters = filters
        self._codec = codec
        self._schema = DocumentSchema(definition.kind, tenant=definition.tenant, extension=definition.extension)
        identity = definition.identity
        self._find_id = compile_path(identity.biz_id)
        self._find_revision = compile_path(identity.revision) if identity.revision else None
        self._find_at = compile_path(identity.at) if identity.at else None
        self._find_deleted = compile_path(identity.deleted) if identity.deleted else None

    def map(self, raw: bytes, *, fallback_id: str = "", broken: str = "") -> MappedRecord | Violations | LeftOut:
        """Return the record mapped, all its violations, or that it is left out.

        Args:
            fallback_id: not used: a record of a Source has an id of its own, or is bad.
            broken: a fault that the reader of the file has found already; the bytes are then not looked at further.
        """
        if broken:
            return self._refuse(REASON_BYTES, [broken])
        try:
            raw = self.to_json(raw)
        except DataError as error:
            return self._refuse(REASON_DECODE, [f"record: {error}"])
        faults = find_byte_faults(raw)
        if faults:
            return self._refuse(REASON_BYTES, faults)
        try:
            record = msgspec.json.decode(raw)
        except (msgspec.DecodeError, msgspec.ValidationError, RecursionError) as error:
            return self._refuse(REASON_JSON, [*find_escape_faults(raw), f"record: invalid JSON: {error}"])
        faults = find_value_faults(raw, record) if isinstance(record, dict) else []
        return self._refuse(REASON_BYTES, faults) if faults else self.map_value(record)

    def to_json(self, raw: bytes) -> bytes:
        """Return the bytes of a record as JSON; those that are JSON already, or should be, as they are.

        Raises:
            DataError: they cannot be decoded.
        """
        if self._codec is None:
            return raw
        if not raw:
            # An empty message of protobuf would be one with nothing but defaults; in a log it is a deletion mark.
            raise DataError("is empty")
        return self._codec.to_json(raw)

    def map_value(self, record: Any) -> MappedRecord | Violations | LeftOut:
        """Map a record that is decoded already; see `map`."""
        faults: dict[str, str] = {}
        identity = self._identify(record, faults)
        if identity.is_deleted and not faults:
            return LeftOut("filtered", DELETED, self.revision)
        document = self._fill(record, faults)
        violations = [f"{place}: {fault}" for place, fault in faults.items()]
        if not self._schema.is_valid(document):
            violations += self._schema.find_violations(document, known=faults)
        if violations:
            return self._refuse(REASON_MAPPING if faults else REASON_SCHEMA, violations)
        for each in self._filters:
            try:
                if each.holds(document):
                    return LeftOut("filtered", each.drop, self.revision)
            except ValueError:
                self.filter_errors[each.drop] += 1
        return self._compose(document, identity)

    def take_filter_errors(self) -> Counter[str]:
        """Return what `filter_errors` has counted, and start again at none."""
        taken, self.filter_errors = self.filter_errors, Counter()
        return taken

    def identify(self, raw: bytes, *, fallback_id: str) -> str:
        """Return the input id of a record as well as it can be told, even where the record is refused."""
        try:
            record = msgspec.json.decode(self.to_json(raw))
        except (DataError, msgspec.DecodeError, msgspec.ValidationError, RecursionError):
            return fallback_id
        return self._identify(record, {}).input_id or fallback_id

    def _identify(self, record: Any, faults: dict[str, str]) -> _Identity:
        input_id = ""
        try:
            found = [value for value in self._find_id(record) if value is not None and value != ""]
            if len(found) == 1 and isinstance(found[0], (str, int)) and not isinstance(found[0], bool):
                input_id = _check_id(_text(found[0]).strip())
            else:
                faults["/identity/biz_id"] = _explain_id(found, self.definition.identity.biz_id)
        except ValueError as error:
            faults["/identity/biz_id"] = str(error)
        at_ms = _read_one(self._find_at, record, _time, "at", faults)
        revision = _read_one(self._find_revision, record, _int, "revision", faults)
        is_deleted = _read_one(self._find_deleted, record, _bool, "deleted", faults)
        if revision is None:
            revision = at_ms
        elif revision < 0:
            faults["/identity/revision"] = "is below 0"
        return _Identity(input_id, max(0, revision or 0), at_ms, bool(is_deleted))

    def _fill(self, record: Any, faults: dict[str, str]) -> dict[str, Any]:
        """Return the document that the rules make of a record; note in `faults`, by pointer, what they cannot."""
        document: dict[str, Any] = {"ext": {self.definition.tenant: {}}} if self.definition.extension else {}
        for compiled in self.rules:
            rule = compiled.rule
            values = [value for value in compiled.find(record) if value is not None]
            if not values:
                if rule.required:
                    faults[compiled.pointer] = f"is required, and {rule.path} finds nothing"
                elif rule.default is not None:
                    _put(document, compiled.place, rule.default)
                continue
            try:
                value = _convert_many(values, compiled.convert) if rule.many else _convert_one(values, compiled.convert)
            except ValueError as error:
                faults[compiled.pointer] = str(error)
                continue
            _put(document, compiled.place, value)
        return document

    def _compose(self, document: dict[str, Any], identity: _Identity) -> MappedRecord | Violations | LeftOut:
        definition = self.definition
        try:
            fields = freeze(remaining_fields(definition.kind, document))
            ext = freeze(document.get("ext", {}))
        except DataError as error:
            return self._refuse(REASON_SCHEMA, [f": {error}"])
        return MappedRecord(
            identity.input_id,
            definition.kind,
            definition.address,
            text_of(definition.kind, document),
            document.get("author"),
            document.get("created_at", identity.at_ms),
            ext,
            definition.tenant,
            fields,
            identity.revision,
            self.revision,
        )

    def _refuse(self, reason: str, violations: list[str]) -> Violations | LeftOut:
        if self.definition.on_bad == "skip":
            return LeftOut("skipped", reason, self.revision)
        return Violations(reason, tuple(dict.fromkeys(violations)), self.revision)


def _compile_codec(definition: SourceDefinition, file: str) -> Codec | None:
    schema = definition.schema
    if schema is None:
        return None
    try:
        return make_codec(definition.decode, schema=schema.content, message=schema.message, framing=schema.framing)
    except BadSchema as error:
        raise ConfigError(f"{file or definition.name}: schema of its records: {error}", advice="mend from:") from error


def _compile_rule(rule: FieldRule) -> CompiledRule:
    place = tuple(rule.to.split("."))
    return CompiledRule(rule, compile_path(rule.path), chain(rule.convert), place, pointer(place))


def _declare(definition: SourceDefinition) -> dict[str, Declared]:
    """Return the fields that items of a Source may have."""
    standard = describe_fields(definition.kind)
    needed = required_fields(definition.kind)
    own = definition.extension.get("properties", {})
    declared: dict[str, Declared] = {}
    for rule in definition.fields:
        schema: Mapping[str, Any] = own.get(rule.to.rpartition(".")[2], {}) if "." in rule.to else standard[rule.to]
        kind = schema.get("type", "")
        is_sure = rule.required or rule.default is not None or rule.to in needed
        declared[rule.to] = Declared(is_sure, kind if isinstance(kind, str) else "")
    return declared


def _put(document: dict[str, Any], place: tuple[str, ...], value: Any) -> None:
    for part in place[:-1]:
        document = document.setdefault(part, {})
    document[place[-1]] = value


def _convert_one(values: list[Any], convert: tuple[Convert, ...]) -> Any:
    if len(values) > 1:
        raise ValueError(f"{len(values)} values where one is wanted (many: true keeps all)")
    value = values[0]
    for step in convert:
        value = step(value)
    return value


def _convert_many(values: list[Any], convert: tuple[Convert, ...]) -> list[Any]:
    if len(values) == 1 and isinstance(values[0], list):
        values = [value for value in values[0] if value is not None]
    converted: list[Any] = []
    for value in values:
        for step in convert:
            value = step(value)
        # A text that was split gives several.
        converted += value if isinstance(value, list) else [value]
    return converted


def _read_one(find: Find | None, record: Any, convert: Convert, name: str, faults: dict[str, str]) -> Any:
    values = [value for value in find(record) if value is not None] if find is not None else []
    if not values:
        return None
    try:
        return _convert_one(values, (convert,))
    except ValueError as error:
        faults[f"/identity/{name}"] = str(error)
        return None


def _check_id(text: str) -> str:
    if not text:
        raise ValueError("is empty")
    if len(text.encode("utf-8", "replace")) > INPUT_ID_BYTES_MAX:
        raise ValueError(f"is longer than {INPUT_ID_BYTES_MAX} bytes")
    return text


def _explain_id(found: list[Any], path: str) -> str:
    if not found:
        return f"is missing: {path} finds nothing"
    return f"{len(found)} values" if len(found) > 1 else "expected text or a whole number"
