"""Holds a mapped record against the schema of its kind and its tenant's extension, and finds every violation. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import jsonschema_rs

from gristmill.intake.sources.kinds import read_schema

__all__ = ["BadSchema", "DocumentSchema", "check_extension", "fits", "pointer"]


class BadSchema(Exception):
    """An extension is no JSON Schema; the message says why."""


def pointer(parts: Sequence[str | int]) -> str:
    """Return a JSON Pointer (RFC 6901)."""
    return "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in parts)


def check_extension(schema: Mapping[str, Any]) -> None:
    """Refuse what is no JSON Schema of an object.

    Raises:
        BadSchema: says why.
    """
    if schema.get("type", "object") != "object" or not isinstance(schema.get("properties"), dict):
        raise BadSchema("must describe an object: type: object, properties: ...")
    try:
        jsonschema_rs.meta.validate(dict(schema))
        jsonschema_rs.Draft202012Validator(dict(schema))
    except (jsonschema_rs.ValidationError, ValueError) as error:
        raise BadSchema(str(error).splitlines()[0]) from error


def fits(value: Any, schema: Mapping[str, Any]) -> bool:
    """Whether a value follows the schema of one field."""
    return jsonschema_rs.is_valid(dict(schema), value)


class DocumentSchema:
    """The schema of a kind with what one tenant has added."""

    def __init__(self, kind: str, *, tenant: str, extension: Mapping[str, Any]) -> None:
        schema = dict(read_schema(kind))
        if extension:
            own = {"type": "object", "additionalProperties": False, **extension}
            ext = {**schema["properties"]["ext"], "properties": {tenant: own}}
            schema["properties"] = {**schema["properties"], "ext": ext}
        self._validator = jsonschema_rs.Draft202012Validator(schema, validate_formats=False)

    def is_valid(self, document: Mapping[str, Any]) -> bool:
        """Whether there is no violation."""
        return self._validator.is_valid(document)

    def find_violations(self, document: Mapping[str, Any], *, known: Collection[str]) -> list[str]:
        """Return every violation as `pointer: message`; what misses at a pointer in `known` has been told before."""
        found: list[str] = []
        for error in self._validator.iter_errors(document):
            for place, message in _explain(error):
                if place not in known:
                    found.append(f"{place}: {message}")
        return found


def _explain(error: Any) -> list[tuple[str, str]]:
    """Return one entry for each thing that is wrong; what misses and what is too much get pointers of their own."""
    path = list(error.instance_path)
    match error.kind.name:
        case "required":
            return [(pointer([*path, error.kind.property]), "is missing")]
        case "additionalProperties":
            return [(pointer([*path, name]), "is no field of this kind") for name in error.kind.unexpected]
        case "anyOf":
            return [(pointer(path), "has none of the forms that it may have")]
        case "maxLength":
            return [(pointer(path), f"is longer than {error.kind.value} characters")]
        case "type":
            return [(pointer(path), f"expected {_types(error.kind.types)}, got {_type_of(error.instance)}")]
        case _:
            return [(pointer(path), str(error.message)[:200])]


def _types(types: Sequence[str]) -> str:
    return " or ".join(types)


def _type_of(value: Any) -> str:
    names = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer", float: "number"}
    return names.get(type(value), "null")
