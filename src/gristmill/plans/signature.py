"""Reads what a task function asks for and gives, from its annotations, once at import."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable
from typing import Any, Literal, Union, get_args, get_origin

import msgspec

from gristmill.domain.errors import UsageError
from gristmill.domain.item import Item
from gristmill.domain.outcome import OUTCOMES, Done
from gristmill.plans.resources import Need, Role, RunScope
from gristmill.plans.results import mark_of

__all__ = ["Parameter", "Signature"]


class Parameter(msgspec.Struct, frozen=True):
    """One parameter before `*`. `source` says what fills it; `wanted` is the result type or the Need."""

    name: str
    source: Literal["item", "scope", "result", "resource"]
    wanted: Any = None
    optional: bool = False


class Signature:
    """The contract of a task function: parameters, configuration, result type, outcomes."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self._name = name
        try:
            hints = typing.get_type_hints(function, include_extras=True)
        except NameError as error:
            advice = "annotate with names that exist at module level"
            raise UsageError(
                f"annotation of task {name!r} cannot be resolved", value=str(error), advice=advice
            ) from error
        parameters: list[Parameter] = []
        self.config_defaults: dict[str, Any] = {}
        required: set[str] = set()
        for parameter in inspect.signature(function).parameters.values():
            if parameter.kind is parameter.KEYWORD_ONLY:
                if parameter.default is parameter.empty:
                    required.add(parameter.name)
                else:
                    self.config_defaults[parameter.name] = parameter.default
            elif parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
                raise UsageError(f"task {name!r} takes variable arguments", value=parameter.name, advice="name them")
            else:
                parameters.append(self._read(parameter.name, hints.get(parameter.name)))
        self.parameters = tuple(parameters)
        self.config_required = frozenset(required)
        self.result, self.outcomes = self._read_return(hints)

    def _read(self, name: str, hint: Any) -> Parameter:
        if hint is Item:
            return Parameter(name, "item")
        if hint is RunScope:
            return Parameter(name, "scope")
        if get_origin(hint) is typing.Annotated:
            port, *notes = get_args(hint)
            roles = [note for note in notes if isinstance(note, Role)]
            if len(roles) == 1:
                return Parameter(name, "resource", Need(port, roles[0].name))
        wanted, optional = _strip_none(hint)
        if isinstance(wanted, type) and mark_of(wanted) is not None:
            return Parameter(name, "result", wanted, optional)
        advice = "use Item, a marked result, Annotated[port, Role(...)] or RunScope; configuration goes after '*'"
        raise UsageError(f"parameter {name!r} of task {self._name!r}", value=str(hint), advice=advice)

    def _read_return(self, hints: dict[str, Any]) -> tuple[type[msgspec.Struct] | None, frozenset[type]]:
        if "return" not in hints:
            raise UsageError(f"task {self._name!r} has no return annotation", advice="e.g. '-> Topics | Skip'")
        hint = hints["return"]
        members = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
        outcomes = {member for member in members if member in OUTCOMES}
        results = [member for member in members if member not in OUTCOMES and member is not type(None)]
        if Done in outcomes:
            raise UsageError(f"task {self._name!r} returns Done", advice="name the result type itself")
        for result in results:
            if not isinstance(result, type) or mark_of(result) is None:
                advice = "mark a frozen Struct with @cell('name'), @kept or @transient"
                raise UsageError(
                    f"return type of task {self._name!r} is not a result", value=str(result), advice=advice
                )
        if len(results) > 1:
            advice = "one result type, put the others into its fields"
            raise UsageError(f"task {self._name!r} has several result types", value=str(hint), advice=advice)
        return (results[0] if results else None), frozenset(outcomes)


def _strip_none(hint: Any) -> tuple[Any, bool]:
    if get_origin(hint) in (Union, types.UnionType):
        rest = [member for member in get_args(hint) if member is not type(None)]
        if len(rest) == 1 and len(rest) < len(get_args(hint)):
            return rest[0], True
    return hint, False
