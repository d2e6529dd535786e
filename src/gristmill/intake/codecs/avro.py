"""Avro records as JSON, by the schema that they were written with.

Each record stands alone, as it does in a log: no container file around it. Logical times become RFC 3339, decimals and
UUIDs texts, bytes base64.

Schemas that name themselves are refused: the reader follows them down on the machine's stack, and a record that nests
deeply enough would end the process. So are lists of values that take no bytes, which may claim any length.
"""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Mapping
from typing import Any

import fastavro
import msgspec
from fastavro.schema import SchemaParseException, UnknownType

from gristmill.domain.errors import DataError
from gristmill.intake.codecs.codec import BadSchema
from gristmill.intake.codecs.framing import strip_frame

__all__ = ["AvroCodec"]

_FAULTS = (
    *(EOFError, ValueError, TypeError, KeyError, IndexError, OverflowError, ArithmeticError, MemoryError),
    *(struct.error, RecursionError, AttributeError),
)
"""What bytes of others make the library raise."""


class AvroCodec:
    """See `Codec`.

    Raises:
        BadSchema: it is no Avro schema, it names itself, or it has lists of nothing.
    """

    def __init__(self, schema: bytes, *, is_framed: bool) -> None:
        self._is_framed = is_framed
        try:
            plain = json.loads(schema)
            _check(plain, (), set())
            self._schema: Any = fastavro.parse_schema(plain)
        except BadSchema:
            raise
        except (SchemaParseException, UnknownType, ValueError, TypeError, KeyError, RecursionError) as error:
            raise BadSchema(f"is no Avro schema: {type(error).__name__}: {error}") from error

    def to_json(self, raw: bytes) -> bytes:
        """Return a record as JSON; see `Codec`."""
        stream = io.BytesIO(strip_frame(raw) if self._is_framed else raw)
        try:
            value = fastavro.schemaless_reader(stream, self._schema, None)
            left = len(stream.getbuffer()) - stream.tell()
            if left:
                raise ValueError(f"{left} bytes are left behind it")
            return msgspec.json.encode(value)
        except _FAULTS as error:
            raise DataError("is no record of the schema", value=str(error) or type(error).__name__) from error


def _check(schema: Any, inside: tuple[str, ...], empty: set[str]) -> None:
    """Refuse a schema that names one that it stands in, or that has lists of nothing.

    Args:
        inside: short names of the records around it.
        empty: short names of types whose values take no bytes; those in it are added.
    """
    if isinstance(schema, str):
        if _short(schema) in inside:
            raise BadSchema(f"type {schema!r} names itself: nesting without end cannot be read safely")
        return
    if isinstance(schema, list):
        for branch in schema:
            _check(branch, inside, empty)
        return
    if not isinstance(schema, Mapping):
        raise BadSchema(f"is no Avro schema: {schema!r}")
    kind = schema.get("type")
    if kind == "array":
        _check(schema.get("items"), inside, empty)
        if _takes_nothing(schema.get("items"), empty):
            raise BadSchema("holds a list of values that take no bytes: its length could be anything")
    elif kind == "map":
        _check(schema.get("values"), inside, empty)
    elif kind == "record":
        for field in schema["fields"]:
            _check(field["type"], (*inside, _short(schema["name"])), empty)
    elif isinstance(kind, (list, Mapping)):
        _check(kind, inside, empty)
    if kind in ("record", "fixed") and _takes_nothing(schema, empty):
        empty.add(_short(schema["name"]))


def _takes_nothing(schema: Any, empty: set[str]) -> bool:
    if isinstance(schema, str):
        return schema == "null" or _short(schema) in empty
    if isinstance(schema, list):
        return False
    kind = schema.get("type")
    if kind == "record":
        return all(_takes_nothing(field["type"], empty) for field in schema["fields"])
    if kind == "fixed":
        return bool(schema.get("size") == 0)
    return bool(kind == "null")


def _short(name: str) -> str:
    return name.rpartition(".")[2]
