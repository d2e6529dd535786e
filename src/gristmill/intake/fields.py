"""Finds which field of a foreign record is which: by the names people use, or by the mapping they give. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from gristmill.domain.errors import UsageError

__all__ = ["TARGETS", "FieldMap", "fold_name", "parse_field_map", "read_path"]

REMEMBERED_NAMES = 2_048
REMEMBERED_CHARS_MAX = 64
"""Records of a source have the same field names over and over; together these take at most half a megabyte."""

TARGETS = ("id", "text", "author", "created_at", "kind")
"""Fields of an Item that a record can fill, as they are called in a mapping."""

KNOWN_NAMES = {
    "id": "id input_id item_id comment_id post_id message_id review_id tweet_id status_id doc_id document_id uid uuid",
    "text": "text full_text body content message comment comment_text review review_text post_text tweet caption",
    "author": "author author_id author_name user user_id user_name username screen_name handle posted_by account_id",
    "created_at": "created_at created created_utc created_time timestamp published_at posted_at date datetime time ts",
    "kind": "kind",
}
"""Names tried for each target, first come first served; case, `_`, `-` and spaces do not matter."""


class FieldMap(msgspec.Struct, frozen=True):
    """Which field fills which target. A target that is not given is found by name."""

    given: dict[str, str] = {}

    def candidates(self, target: str, keys: Mapping[str, str]) -> Sequence[str]:
        """Return the fields of a record that may fill a target; `keys` holds its field names by folded name."""
        return [keys[name] for name in _FOLDED[target] if name in keys]


def parse_field_map(texts: Sequence[str]) -> FieldMap:
    """Read `target=field` texts such as `text=Comment` or `author=user.name`.

    Raises:
        UsageError: no `=`, an unknown target, or a target given twice.
    """
    given: dict[str, str] = {}
    for text in texts:
        target, equals, field = text.partition("=")
        if not equals or not field.strip():
            raise UsageError("mapping", value=text, advice="write TARGET=FIELD, for example text=Comment")
        target = target.strip().lower()
        if target not in TARGETS:
            raise UsageError("mapping target", value=target, advice=f"known: {', '.join(TARGETS)}")
        if target in given:
            raise UsageError("mapping target is given twice", value=target, advice="keep one of them")
        given[target] = field.strip()
    return FieldMap(given)


def read_path(record: Mapping[str, Any], path: str) -> Any:
    """Return the value at a field name or at a dotted path, None where there is nothing. Case does not matter."""
    found = _get(record, path)
    if found is not None or "." not in path:
        return found
    value: Any = record
    for part in path.split("."):
        if not isinstance(value, Mapping):
            return None
        value = _get(value, part)
    return value


def fold_name(name: str) -> str:
    """Return a field name without case, spaces and joining signs: `Comment_ID` and `commentId` are one name."""
    return _fold_short(name) if len(name) <= REMEMBERED_CHARS_MAX else _fold(name)


def _fold(name: str) -> str:
    return "".join([sign for sign in name.casefold() if sign.isalnum()])


_fold_short = lru_cache(maxsize=REMEMBERED_NAMES)(_fold)


def _get(record: Mapping[str, Any], name: str) -> Any:
    if name in record:
        return record[name]
    folded = name.casefold()
    return next((value for key, value in record.items() if key.casefold() == folded), None)


_FOLDED = {target: tuple(fold_name(name) for name in names.split()) for target, names in KNOWN_NAMES.items()}
