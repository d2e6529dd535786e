"""What tasks may return, and how long it is kept.

A result is a module-level, frozen `msgspec.Struct` whose fields are immutable all the way down, marked by

- `@cell("name")`: becomes a Cell of the item under that field name;
- `@kept`: stays with the Run, so that a resumed Run need not compute it again;
- `@transient`: is thrown away when the Run ends and computed again after a resume.

Three field names have a meaning: `labels` (tuple of Label), `contributions` (tuple of Join or Count) and
`effects` (tuple of Effect, only on results of sinks). They go into the commit with the task as their cause.
"""

from __future__ import annotations

import decimal
import enum
import re
import types
import typing
import uuid
from collections.abc import Callable, Sequence
from datetime import date, datetime, time, timedelta
from typing import Any, Literal, NewType, TypeVar, Union, get_args, get_origin

import msgspec

from gristmill.domain.contribution import Count, Join
from gristmill.domain.errors import UsageError
from gristmill.domain.item import Label
from gristmill.domain.run import Effect

__all__ = ["ResultMark", "cell", "kept", "mark_of", "show_type", "transient"]

Kept = Literal["cell", "kept", "transient"]
S = TypeVar("S", bound=type[msgspec.Struct])

_MARK = "__gristmill_result__"
_FIELD = re.compile(r"[a-z][a-z0-9_]{0,59}(\.[a-z][a-z0-9_]{0,59}){0,3}")
_PLAIN = (
    *(str, int, float, bool, bytes, type(None), Any),
    *(date, datetime, time, timedelta, decimal.Decimal, uuid.UUID),
)
_TAKEN_OVER: dict[str, tuple[type, ...]] = {"labels": (Label,), "contributions": (Join, Count), "effects": (Effect,)}
"""Fields with a meaning -> what their tuple may hold."""


class ResultMark(msgspec.Struct, frozen=True):
    """How a result type is kept, and which of its fields the commit takes over."""

    kept: Kept
    field: str
    has_labels: bool
    has_contributions: bool
    has_effects: bool


def cell(field: str) -> Callable[[S], S]:
    """Mark a result type as a Cell of the item under `field` (lower case, digits, `_` and `.`)."""
    if not _FIELD.fullmatch(str(field)):
        advice = "write @cell('topics'): lower-case words of a-z, 0-9 and '_', joined by '.'"
        raise UsageError("cell field name", value=field, advice=advice)
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


def show_type(hint: Any) -> str:
    """Return an annotation the way its author wrote it, without module paths."""
    if isinstance(hint, type) and get_origin(hint) is None:
        return hint.__qualname__
    return re.sub(r"\b(?:\w+\.)+(?=\w)", "", str(hint))


def _mark(result_type: S, how: Kept, field: str) -> S:
    given: Any = result_type
    if not isinstance(given, type) or not issubclass(given, msgspec.Struct):
        shown = getattr(given, "__qualname__", given)
        raise UsageError("result type is not a msgspec.Struct", value=shown, advice="class X(Struct, frozen=True)")
    name = result_type.__qualname__
    if mark_of(result_type) is not None:
        raise UsageError("result type is marked twice", value=name, advice="choose one of @cell, @kept, @transient")
    if not result_type.__struct_config__.frozen:
        raise UsageError("result type is mutable", value=name, advice="declare it with frozen=True")
    if "<locals>" in name:
        raise UsageError("result type inside a function", value=name, advice="move it to module level")
    hints = _resolve_fields(result_type)
    for attribute, hint in hints.items():
        if not _is_immutable(hint, seen=(result_type,)):
            advice = "use plain values, enums, and tuples, frozensets and frozen structs of them, all the way down"
            thing = f"field {attribute!r} of result type {name} is not immutable data"
            raise UsageError(thing, value=show_type(hint), advice=advice)
    for attribute, members in _TAKEN_OVER.items():
        if attribute in hints and not _is_tuple_of(hints[attribute], members):
            wanted = " | ".join(member.__name__ for member in members)
            thing = f"field {attribute!r} of result type {name} is taken over by the commit"
            advice = f"annotate it as tuple[{wanted}, ...], or give it another name"
            raise UsageError(thing, value=show_type(hints[attribute]), advice=advice)
    _refuse_undecodable(result_type)
    mark = ResultMark(how, field, "labels" in hints, "contributions" in hints, "effects" in hints)
    setattr(result_type, _MARK, mark)
    return result_type


def _resolve_fields(result_type: type[msgspec.Struct]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(result_type)
    except (NameError, TypeError, AttributeError, SyntaxError) as error:
        thing = f"a field of result type {result_type.__qualname__} cannot be resolved"
        advice = "import its type at module level, not under TYPE_CHECKING, and define it above"
        raise UsageError(thing, value=str(error), advice=advice) from error


def _refuse_undecodable(result_type: type[msgspec.Struct]) -> None:
    try:
        msgspec.json.Decoder(result_type)
    except TypeError as error:
        thing = f"result type {result_type.__qualname__} could not be read back from the store"
        raise UsageError(thing, advice=str(error).splitlines()[0]) from error


def _is_tuple_of(hint: Any, members: Sequence[type]) -> bool:
    if get_origin(hint) is not tuple:
        return False
    inner = [argument for argument in get_args(hint) if argument is not Ellipsis]
    return all(
        member in members
        for argument in inner
        for member in (get_args(argument) if get_origin(argument) in (Union, types.UnionType) else (argument,))
    )


def _is_immutable(hint: Any, *, seen: tuple[type, ...]) -> bool:
    """Whether values of this annotation cannot change; `seen` are the structs around it, for those that nest."""
    origin = get_origin(hint)
    if origin in (tuple, frozenset, Union, types.UnionType):
        return all(argument is Ellipsis or _is_immutable(argument, seen=seen) for argument in get_args(hint))
    if isinstance(hint, NewType):
        return _is_immutable(hint.__supertype__, seen=seen)
    if origin is Literal or hint in _PLAIN or hint in seen:
        return True
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        inner = _resolve_fields(hint).values()
        return hint.__struct_config__.frozen and all(_is_immutable(field, seen=(*seen, hint)) for field in inner)
    return isinstance(hint, type) and issubclass(hint, enum.Enum)
