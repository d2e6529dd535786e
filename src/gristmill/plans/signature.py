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
from gristmill.plans.names import advise_known
from gristmill.plans.resources import Need, Role, RunScope
from gristmill.plans.results import mark_of, show_type

__all__ = ["Parameter", "Signature", "convert_value"]

PLACEMENT_WORDS = frozenset({"self", "name", "after", "after_any", "bind", "absent", "finally_"})
"""Arguments of `use(...)` itself; configuration cannot go by these names."""

_MISSING = inspect.Parameter.empty
_CONFIGURATION = (str, int, float, bool, bytes, type(None), list, dict, set, tuple, frozenset)


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
        hints = self._resolve_hints(function)
        parameters: list[Parameter] = []
        self.config_defaults: dict[str, Any] = {}
        self.config_types: dict[str, Any] = {}
        for parameter in inspect.signature(function).parameters.values():
            if parameter.kind is parameter.KEYWORD_ONLY:
                self._read_config(parameter, hints.get(parameter.name, Any))
            elif parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
                raise UsageError(
                    f"task {name!r} takes variable arguments", value=parameter.name, advice="write each one out"
                )
            elif parameter.default is not _MISSING:
                advice = "configuration goes after '*'; a result that may be missing is 'X | None' without a default"
                thing = f"parameter {parameter.name!r} of task {name!r} has a default"
                raise UsageError(thing, value=parameter.default, advice=advice)
            else:
                parameters.append(self._read(parameter.name, hints.get(parameter.name, _MISSING)))
        self.parameters = tuple(parameters)
        self.config_required = frozenset(self.config_types.keys() - self.config_defaults.keys())
        self.result, self.outcomes = self._read_return(hints)

    def _resolve_hints(self, function: Callable[..., Any]) -> dict[str, Any]:
        try:
            return typing.get_type_hints(function, include_extras=True)
        except (NameError, TypeError, AttributeError, SyntaxError) as error:
            advice = "import it at module level, not under TYPE_CHECKING, and define types outside functions"
            thing = f"annotation of task {self._name!r} cannot be resolved"
            raise UsageError(thing, value=str(error), advice=advice) from error

    def _read_config(self, parameter: inspect.Parameter, hint: Any) -> None:
        where = f"configuration {parameter.name!r} of task {self._name!r}"
        if parameter.name in PLACEMENT_WORDS:
            raise UsageError(f"{where} is a word of use(...)", advice="give it another name")
        wanted, _ = _strip_none(_strip_notes(hint))
        is_result = isinstance(wanted, type) and mark_of(wanted) is not None
        if is_result or wanted in (Item, RunScope) or _roles_of(hint):
            raise UsageError(f"{where} is filled by a run", value=show_type(hint), advice="put it before '*'")
        self.config_types[parameter.name] = hint
        if parameter.default is _MISSING:
            return
        if isinstance(parameter.default, (list, dict, set, bytearray)):
            advice = "all runs would share it; use a tuple, a frozenset or None"
            raise UsageError(f"{where} has a mutable default", value=parameter.default, advice=advice)
        self.config_defaults[parameter.name] = parameter.default

    def _read(self, name: str, hint: Any) -> Parameter:
        where = f"parameter {name!r} of task {self._name!r}"
        roles = _roles_of(hint)
        plain = _strip_notes(hint)
        if roles:
            return Parameter(name, "resource", _read_need(where, plain, roles))
        if plain is Item:
            return Parameter(name, "item")
        if plain is RunScope:
            return Parameter(name, "scope")
        wanted, optional = _strip_none(plain)
        if isinstance(wanted, type) and mark_of(wanted) is not None:
            return Parameter(name, "result", wanted, optional)
        if hint is _MISSING:
            advice = "say what it is: 'item: Item', a result type, a resource"
            if name in ("self", "cls"):
                advice = "a task is a function of a module, not a method"
            raise UsageError(f"{where} has no annotation", advice=advice)
        raise UsageError(where, value=show_type(hint), advice=_advise_parameter(wanted, optional))

    def _read_return(self, hints: dict[str, Any]) -> tuple[type[msgspec.Struct] | None, frozenset[type]]:
        if "return" not in hints:
            advice = "e.g. '-> Topics | Skip', or '-> None' for a task without a result"
            raise UsageError(f"task {self._name!r} has no return annotation", advice=advice)
        hint = _strip_notes(hints["return"])
        members = [_strip_notes(member) for member in _union_of(hint)]
        outcomes = {member for member in members if member in OUTCOMES}
        results = [member for member in members if member not in OUTCOMES and member is not type(None)]
        if Done in outcomes:
            raise UsageError(f"task {self._name!r} returns Done", advice="name the result type itself")
        for result in results:
            if not isinstance(result, type) or mark_of(result) is None:
                thing = f"return type of task {self._name!r} is not a result"
                raise UsageError(thing, value=show_type(result), advice=_advise_mark(result))
        if len(results) > 1:
            advice = "one result type, put the others into its fields"
            raise UsageError(f"task {self._name!r} has several result types", value=show_type(hint), advice=advice)
        if results and type(None) in members:
            advice = f"say '-> {show_type(results[0])} | Skip' and return Skip('why') where there is no result"
            raise UsageError(f"task {self._name!r} may return None instead of its result", advice=advice)
        return (results[0] if results else None), frozenset(outcomes)


def convert_value(thing: str, value: Any, hint: Any) -> Any:
    """Return `value` as its annotation wants it, containers copied, so that nobody can change it from outside.

    Raises:
        UsageError: it does not fit. Annotations that msgspec does not know are not checked.
    """
    try:
        return msgspec.convert(value, hint)
    except msgspec.ValidationError as error:
        choices = [str(one) for part in _union_of(hint) if get_origin(part) is Literal for one in get_args(part)]
        advice = advise_known(str(value), choices) if choices else str(error).replace("`", "")
        raise UsageError(thing, value=value, advice=advice) from error
    except TypeError:
        return value


def _read_need(where: str, port: Any, roles: list[Role]) -> Need:
    if len(roles) > 1:
        raise UsageError(f"{where} has several roles", value=[role.name for role in roles], advice="give it one")
    if not isinstance(port, type) or port in (Item, RunScope) or mark_of(port) is not None:
        advice = "a role stands with a port: Annotated[LLM, Role('safety')]; a port is always there, never '| None'"
        raise UsageError(f"{where} has a role, but no port", value=show_type(port), advice=advice)
    return Need(port, roles[0].name)


def _roles_of(hint: Any) -> list[Role]:
    return [note for note in getattr(hint, "__metadata__", ()) if isinstance(note, Role)]


def _strip_notes(hint: Any) -> Any:
    """Take `Annotated` off: notes of other readers do not concern us."""
    return get_args(hint)[0] if get_origin(hint) is typing.Annotated else hint


def _union_of(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)


def _strip_none(hint: Any) -> tuple[Any, bool]:
    members = _union_of(hint)
    rest = [_strip_notes(member) for member in members if member is not type(None)]
    if len(rest) == 1 and len(rest) < len(members):
        return rest[0], True
    return hint, False


def _advise_parameter(wanted: Any, optional: bool) -> str:
    if wanted in (Item, RunScope):
        return "it is always there, drop '| None'"
    if len(_union_of(wanted)) > 1:
        return "one type a parameter; take two parameters, each 'X | None'"
    if getattr(wanted, "_is_protocol", False):
        drop = ", and drop '| None'" if optional else ""
        return f"say which one by its role: Annotated[{show_type(wanted)}, Role('...')]{drop}"
    if wanted in _CONFIGURATION or get_origin(wanted) in _CONFIGURATION:
        return "configuration goes after '*'"
    if isinstance(wanted, type) and issubclass(wanted, msgspec.Struct):
        return _advise_mark(wanted)
    return "use Item, a marked result, Annotated[port, Role('...')] or RunScope; configuration goes after '*'"


def _advise_mark(result: Any) -> str:
    if get_origin(result) is not None and isinstance(get_origin(result), type):
        return "a result is one Struct: put the values into its fields; generic types are not told apart"
    if isinstance(result, type) and any(mark_of(parent) for parent in result.__mro__[1:]):
        return "a mark is not inherited: mark it with @cell('name'), @kept or @transient too"
    return "mark a frozen Struct with @cell('name'), @kept or @transient"
