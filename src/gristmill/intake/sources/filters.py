"""Filters of a Source: CEL over `item`, checked when they are published, and never in the way of a record.

A field that an item need not have must be asked for with `has(item.lang)` first; a condition that fails on a record all
the same counts as not fulfilled, and is counted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from gristmill.plans.definitions.expression import BadExpression, Expression, compile_expression
from gristmill.plans.names import advise_known

__all__ = ["BadFilter", "Declared", "Filter", "compile_filter"]

LITERAL = re.compile(r"""[rR]?("{3}|'{3})(?:\\.|(?!\1).)*\1|[rR]?("|')(?:\\.|(?!\2)[^\\])*\2""", re.DOTALL)
MEMBER = re.compile(r"(?<![\w.])item\b((?:\s*\.\s*[A-Za-z_]\w*)*)(\s*[\[(])?")
GUARD = re.compile(r"\bhas\(\s*item((?:\s*\.\s*[A-Za-z_]\w*)+)\s*\)")
ITEM = "item"

SAMPLES: Mapping[str, Any] = {
    "string": "sample",
    "integer": 7,
    "number": 0.7,
    "boolean": True,
    "array": ["sample"],
    "object": {},
}


class BadFilter(Exception):
    """A condition that cannot be published: what is wrong, and what to do."""

    def __init__(self, problem: str, advice: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.advice = advice


class Declared(NamedTuple):
    """A field that an item of the Source may have.

    Attributes:
        is_sure: every valid item has it.
        type: JSON type, empty where it may have several.
    """

    is_sure: bool
    type: str = ""


class Filter:
    """One condition."""

    def __init__(self, drop: str, expression: Expression, names: frozenset[str]) -> None:
        self.drop = drop
        self._expression = expression
        self._names = names

    def holds(self, document: Mapping[str, Any]) -> bool:
        """Whether the item is to be left out.

        Raises:
            ValueError: the condition fails on this item.
        """
        # The engine takes over whatever it is given, which is most of its cost.
        item = {name: document[name] for name in self._names if name in document}
        return self._expression.evaluate({ITEM: item}) is True


def compile_filter(drop: str, when: str, declared: Mapping[str, Declared]) -> Filter:
    """Check a condition against the declared fields (`title`, `ext.main.heat`) and compile it.

    Raises:
        BadFilter: syntax, an unknown name, a field that may miss and is not asked for, or no condition.
    """
    try:
        expression = compile_expression(when)
    except BadExpression as error:
        raise BadFilter(error.reason, f"at character {error.column} of: {when.strip()}") from error
    for name in sorted(expression.names - {ITEM}):
        raise BadFilter(f"unknown name {name!r}", f"fields are read as item.{name}; {advise_known(name, declared)}")
    bare = LITERAL.sub("''", when)
    names = {_check_member(match, bare, declared) for match in MEMBER.finditer(bare)}
    _check_answer(expression, declared, when)
    return Filter(drop, expression, frozenset(names))


def _check_member(match: re.Match[str], when: str, declared: Mapping[str, Declared]) -> str:
    """Check one `item.some.path` and return the first name in it."""
    parts = [part.strip() for part in match[1].split(".")[1:]]
    if (match[2] or "").strip() == "(" and parts:
        parts.pop()  # `item.title.contains(...)`: the last name is a function.
    if not parts:
        raise BadFilter("uses the item as a whole", f"name a field: item.title; {advise_known('', declared)}")
    path = ".".join(parts[:3] if parts[0] == "ext" else parts[:1])
    if path not in declared:
        raise BadFilter(f"unknown field {path!r}", f"the Source does not map it; {advise_known(path, declared)}")
    if not declared[path].is_sure and path not in _asked_for(when):
        raise BadFilter(f"field {path!r} may be missing", f"ask for it first: has(item.{path}) && ...")
    return parts[0]


def _asked_for(when: str) -> set[str]:
    """Return the fields that a condition asks for with `has`."""
    return {"".join(match[1].split()).removeprefix(".") for match in GUARD.finditer(when)}


def _check_answer(expression: Expression, declared: Mapping[str, Declared], when: str) -> None:
    """Refuse what gives no truth value; types are known only when the engine runs."""
    try:
        answer = expression.evaluate({ITEM: _sample(declared)})
    except ValueError:
        return  # A sample says too little to refuse what may fit real items.
    if not isinstance(answer, bool):
        raise BadFilter(f"gives {answer!r}", f"a condition is true or false: {when.strip()}")


def _sample(declared: Mapping[str, Declared]) -> dict[str, Any]:
    sample: dict[str, Any] = {}
    for path, field in declared.items():
        *parents, name = path.split(".")
        place = sample
        for parent in parents:
            place = place.setdefault(parent, {})
        place[name] = SAMPLES.get(field.type, "sample")
    return sample
