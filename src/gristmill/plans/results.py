"""What tasks may return, and how long it is kept.

A result is a module-level, frozen `msgspec.Struct` whose fields are immutable all the way down, marked by

- `@cell("name")`: becomes a Cell of the item under that field name;
- `@kept`: stays with the Run, so that a resumed Run need not compute it again;
- `@transient`: is thrown away when the Run ends and computed again after a resume.

Three field names have a meaning: `labels` (tuple of Label), `contributions` (tuple of Join or Count) and
`effects` (tuple of Effect, only on results of sinks). They go into the commit with the task as their cause.
"""

from __future__ import annotations

import enum
import types
import typing
from collections.abc import Callable
from datetime import date, datetime
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import msgspec

from gristmill.domain.errors import UsageError

__all__ = ["ResultMark", "cell", "kept", "mark_of", "transient"]

Kept = Literal["cell", "kept", "transient"]
S = TypeVar("S", bound=type[msgspec.Struct])

_MARK = "__gristmill_result__"
_PLAIN = (str, int, float, bool, bytes, type(None), date, datetime, Any)


class ResultMark(msgspec.Struct, frozen=True):
    """How a result type is kept, and which of its fields the commit takes over."""

    kept: Kept
    field: str
    has_labels: bool
    has_contributions: bool
    has_effects: bool


def cell(field: str) -> Callable[[S], S]:
    """Mark a result type as a Cell of the item under `field` (lower case, digits, `_` and `.`)."""
    if not field or not all(part.isidentifier() and part == part.lower() for part in field.split(".")):
        raise UsageError("cell field name", value=field, advice="use lower-case words joined by '_' or '.'")
    return lambda result_type: _mark(result_type, "cell", field)


def kept(result_type: S) -> S:
    """Mark a result type as kept in the Run."""
    return _mark(result_type, "kept", "")


def transient(result_type: S) -> S:
    """Mark a result type as gone when the Run ends."""
    return _mark(result_type, "transient", "")


def mark_of(result_type: type) -> ResultMark | None:
    """Return the mark of a result type, or None if it has none of its own."""
    mark = result_type.__dict__.get(_MARK)
    return mark if isinstance(mark, ResultMark) else None


def _mark(result_type: S, how: Kept, field: str) -> S:
    name = result_type.__qualname__
    if not issubclass(result_type, msgspec.Struct):
        raise UsageError("result type is not a msgspec.Struct", value=name, advice="class X(Struct, frozen=True)")
    if not result_type.__struct_config__.frozen:
        raise UsageError("result type is mutable", value=name, advice="declare it with frozen=True")
    if "<locals>" in name:
        raise UsageError("result type inside a function", value=name, advice="move it to module level")
    hints = typing.get_type_hints(result_type)
    for attribute, hint in hints.items():
        if not _is_immutable(hint):
            advice = "use tuple, frozenset, frozen structs and plain values only"
            raise UsageError(f"field {attribute!r} of result type {name} is mutable", value=str(hint), advice=advice)
    mark = ResultMark(how, field, "labels" in hints, "contributions" in hints, "effects" in hints)
    setattr(result_type, _MARK, mark)
    return result_type


def _is_immutable(hint: Any) -> bool:
    origin = get_origin(hint)
    if origin in (tuple, frozenset, Union, types.UnionType, typing.Annotated):
        arguments = get_args(hint)[:1] if origin is typing.Annotated else get_args(hint)
        return all(argument is Ellipsis or _is_immutable(argument) for argument in arguments)
    if origin is Literal:
        return True
    if hint in _PLAIN:
        return True
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return bool(hint.__struct_config__.frozen)
    return isinstance(hint, type) and issubclass(hint, enum.Enum)
