"""The kinds of content that Sources can map to: one JSON Schema (2020-12) each, and what an Item takes from it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any

__all__ = ["KINDS", "describe_fields", "read_schema", "remaining_fields", "required_fields", "text_of"]

KINDS = ("post", "comment", "article", "image")
ITEM_FIELDS = frozenset({"author", "created_at", "ext"})
"""Standard fields that have a place of their own in an Item, beside its text."""


@cache
def read_schema(kind: str) -> Mapping[str, Any]:
    """Return the JSON Schema of a kind; `ext` is closed and is opened by what tenants declare."""
    text = resources.files(__name__).joinpath(f"{kind}.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return MappingProxyType(schema)


def describe_fields(kind: str) -> Mapping[str, Mapping[str, Any]]:
    """Return the standard fields of a kind with their schemas."""
    fields: dict[str, Any] = read_schema(kind)["properties"]
    return {name: schema for name, schema in fields.items() if name != "ext"}


def required_fields(kind: str) -> frozenset[str]:
    """Return the fields that every item of a kind has."""
    return frozenset(read_schema(kind)["required"])


def text_of(kind: str, document: Mapping[str, Any]) -> str:
    """Return the text of an item: what a reader of it would read, in one piece."""
    return _TEXTS[kind](document)


def remaining_fields(kind: str, document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the standard fields that have no place of their own in an Item."""
    text_field = "text" if kind in ("post", "comment") else ""
    return {name: value for name, value in document.items() if name != text_field and name not in ITEM_FIELDS}


def _text_of_article(document: Mapping[str, Any]) -> str:
    body = document["body"]
    if not isinstance(body, str):
        body = "\n\n".join(block["text"] for block in body if block.get("text"))
    return "\n\n".join(part for part in (document.get("title", ""), body) if part)


def _text_of_image(document: Mapping[str, Any]) -> str:
    return "\n\n".join(part for part in (document.get("title", ""), document.get("alt", "")) if part)


_TEXTS: Mapping[str, Callable[[Mapping[str, Any]], str]] = MappingProxyType(
    {
        "post": lambda document: str(document["text"]),
        "comment": lambda document: str(document["text"]),
        "article": _text_of_article,
        "image": _text_of_image,
    }
)
