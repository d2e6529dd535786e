"""The OpenAPI document. `docs/openapi.json` is this, frozen: a test compares them, so no change goes unnoticed.

Beyond the standard, each operation says in `x-roles` which roles may call it; none means that it is open to everybody.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from gristmill.api.calls import Operation
from gristmill.api.problems import CATALOGUE, Problem
from gristmill.api.problems.catalogue import PROBLEM_MEDIA_TYPE
from gristmill.domain.front.access import ROLES

__all__ = ["describe", "render"]

OPENAPI_VERSION = "3.1.0"
API_VERSION = "1"
REF_TEMPLATE = "#/components/schemas/{name}"
ID_NAMES = ("item_id", "dead_letter_id", "closing_id")
ALWAYS = ("rate-limited", "internal", "not-ready")
GUARDED = ("unauthorised", "forbidden")
WITH_BODY = ("validation", "too-large", "too-slow", "unsupported-media-type")
PATH_NAME = re.compile(r"\{(\w+)\}")

INTRODUCTION = """Publish content, ask for verdicts, look at what was found and why, and correct it.

Ids are decimal strings: they are 64-bit and JavaScript would lose digits. Times are RFC 3339. Errors are problem
documents (RFC 9457) of a fixed catalogue; decide by `type`. Lists are paged by cursor."""


def describe(operations: Sequence[Operation]) -> dict[str, Any]:
    """Return the document."""
    shapes = [shape for operation in operations for shape in (operation.body, operation.answer) if shape is not None]
    _, components = msgspec.json.schema_components([*dict.fromkeys(shapes), Problem], ref_template=REF_TEMPLATE)
    paths: dict[str, Any] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _describe(operation)
    return {
        "openapi": OPENAPI_VERSION,
        "info": {
            "title": "Gristmill",
            "version": API_VERSION,
            "description": INTRODUCTION,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": dict(sorted(components.items())),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def render(document: dict[str, Any]) -> bytes:
    """Return the document as it is frozen and served."""
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


def _describe(operation: Operation) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": operation.operation_id,
        "summary": operation.summary,
        "description": _text_of(operation),
        "parameters": [*_path_parameters(operation), *_query_parameters(operation), *_header_parameters(operation)],
        "responses": _responses(operation),
        "security": [] if operation.access == "public" else [{"token": []}],
    }
    if operation.access != "public":
        described["x-roles"] = list(ROLES[ROLES.index(operation.access) :])
    if operation.body is not None:
        content: dict[str, Any] = {"schema": _ref(operation.body)}
        if operation.example is not None:
            content["example"] = operation.example
        described["requestBody"] = {"required": True, "content": {operation.body_media_type: content}}
    return described


def _text_of(operation: Operation) -> str:
    text = (operation.handle.__doc__ or operation.summary).strip()
    least = "Open to everybody." if operation.access == "public" else f"Needs the role {operation.access}."
    return f"{text}\n\n{least}"


def _path_parameters(operation: Operation) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "string", "pattern": "^[1-9][0-9]{0,18}$"}
            if name in ID_NAMES
            else {"type": "string", "minLength": 1},
        }
        for name in PATH_NAME.findall(operation.path)
    ]


def _query_parameters(operation: Operation) -> list[dict[str, Any]]:
    if operation.query is None:
        return []
    _, components = msgspec.json.schema_components([operation.query], ref_template=REF_TEMPLATE)
    [shape] = components.values()
    return [
        {"name": name, "in": "query", "required": False, "schema": _without_null(schema)}
        for name, schema in shape["properties"].items()
    ]


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """A parameter that is not given is left out: it cannot be null."""
    kept = {name: value for name, value in schema.items() if not (name == "default" and value in (None, ""))}
    if "anyOf" in kept:
        kinds = [kind for kind in kept.pop("anyOf") if kind != {"type": "null"}]
        kept |= kinds[0]
    if "enum" in kept:
        kept["enum"] = [value for value in kept["enum"] if value is not None]
    return kept


def _header_parameters(operation: Operation) -> list[dict[str, Any]]:
    return [
        {
            "name": header.name,
            "in": "header",
            "required": False,
            "description": header.text,
            "schema": {"type": "string", "minLength": 1, "maxLength": header.chars_max},
        }
        for header in operation.headers
    ]


def _responses(operation: Operation) -> dict[str, Any]:
    content: dict[str, Any] = {operation.answer_media_type: {}}
    if operation.answer is not None:
        content[operation.answer_media_type] = {"schema": _ref(operation.answer)}
    responses: dict[str, Any] = {str(operation.status): {"description": "Done", "content": content}}
    for status, text in operation.further_statuses.items():
        responses[str(status)] = {"description": text, "content": content if status not in (304,) else {}}
    names = dict.fromkeys([*operation.problems, *(() if operation.access == "public" else GUARDED), *ALWAYS])
    names |= dict.fromkeys(WITH_BODY if operation.body is not None else ())
    if operation.query is not None:
        names["validation"] = None
    by_status: dict[int, list[str]] = {}
    for name in names:
        by_status.setdefault(CATALOGUE[name].status, []).append(name)
    for status, kinds in sorted(by_status.items()):
        told = "; ".join(f"`{CATALOGUE[kind].type_uri}`: {CATALOGUE[kind].title}" for kind in kinds)
        answer = responses.setdefault(str(status), {"description": "", "content": {}})
        answer["description"] = "; ".join(filter(None, [answer["description"], told]))
        answer["content"][PROBLEM_MEDIA_TYPE] = {"schema": _ref(Problem)}
    return responses


def _ref(shape: Any) -> dict[str, Any]:
    return {"$ref": REF_TEMPLATE.format(name=shape.__name__)}
