"""The part of CEL that means the same in Python: comparisons of like with like, sums, and, or, not.

The engine takes about 1 us for each variable that is handed over; here a condition takes a tenth of that. Everything
else (functions, lists, `? :`, mixed types, names of unknown type) is left to the engine: `translate` returns None then.
Nothing in this part can fail on values of the stated types, so the order in which the sides of `&&` are looked at
cannot be seen.

    condition = alternative { "||" alternative }        sum   = sign { ("+" | "-") sign }
    alternative = relation { "&&" relation }             sign  = "!" sign | "-" number | atom
    relation = sum [ ("<" | "<=" | "==" ...) sum ]       atom  = number | text | name | "(" condition ")"

Source: https://github.com/google/cel-spec/blob/master/doc/langdef.md, sections on syntax and on the standard operators.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

__all__ = ["Condition", "build_all", "translate"]

_TOKEN = re.compile(
    r"\s*(?:(?P<sign>&&|\|\||[=!<>]=|[<>!()+-])|(?P<float>\d+\.\d+)|(?P<int>\d+)|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<text>'[^'\\\n]*'|\"[^\"\\\n]*\"))"
)
_COMPARISONS: Mapping[str, type[ast.cmpop]] = {
    "<": ast.Lt,
    "<=": ast.LtE,
    ">": ast.Gt,
    ">=": ast.GtE,
    "==": ast.Eq,
    "!=": ast.NotEq,
}
_VALUES = "values"


class Condition:
    """A condition in Python, not yet compiled. `names` are the variables that it reads."""

    def __init__(self, tree: ast.expr, names: frozenset[str]) -> None:
        self.tree = tree
        self.names = names


class _NotPlain(Exception):
    """Something that only the engine understands."""


def translate(source: str, types: Mapping[str, type]) -> Condition | None:
    """Return a condition for `build_all`, or None if only the engine can tell what the expression means.

    Args:
        types: name -> bool, int, float or str.
    """
    try:
        return _Parser(source, types).parse()
    except _NotPlain:
        return None


def build_all(conditions: Sequence[Condition]) -> Callable[[Mapping[str, Any]], list[bool]]:
    """Return one function of variables to the values of all conditions."""
    values = ast.arguments(posonlyargs=[], args=[ast.arg(_VALUES)], kwonlyargs=[], kw_defaults=[], defaults=[])
    body = ast.List([condition.tree for condition in conditions], ast.Load())
    tree = ast.fix_missing_locations(ast.Expression(ast.Lambda(values, body)))
    # The tree holds the node types of this module and no call, so there is nothing that it could do but compare.
    function: Callable[[Mapping[str, Any]], list[bool]] = eval(compile(tree, "<conditions>", "eval"), {})
    return function


class _Parser:
    def __init__(self, source: str, types: Mapping[str, type]) -> None:
        self._tokens = _split(source)
        self._types = types
        self._names: set[str] = set()

    def parse(self) -> Condition:
        kind, tree = self._condition()
        if self._tokens or kind is not bool:
            raise _NotPlain
        return Condition(tree, frozenset(self._names))

    def _condition(self) -> tuple[type, ast.expr]:
        return self._chain("||", ast.Or(), self._alternative)

    def _alternative(self) -> tuple[type, ast.expr]:
        return self._chain("&&", ast.And(), self._relation)

    def _chain(
        self, sign: str, operator: ast.boolop, read: Callable[[], tuple[type, ast.expr]]
    ) -> tuple[type, ast.expr]:
        parts = [read()]
        while self._take_sign(sign):
            parts.append(read())
        if len(parts) == 1:
            return parts[0]
        if any(kind is not bool for kind, _ in parts):
            raise _NotPlain
        return bool, ast.BoolOp(operator, [tree for _, tree in parts])

    def _relation(self) -> tuple[type, ast.expr]:
        kind, left = self._sum()
        sign = self._take_sign(*_COMPARISONS)
        if sign is None:
            return kind, left
        other, right = self._sum()
        if other is not kind or (kind is bool and sign not in ("==", "!=")):
            raise _NotPlain
        return bool, ast.Compare(left, [_COMPARISONS[sign]()], [right])

    def _sum(self) -> tuple[type, ast.expr]:
        kind, tree = self._signed()
        while (sign := self._take_sign("+", "-")) is not None:
            other, right = self._signed()
            if other is not kind or kind not in (int, float):
                raise _NotPlain
            tree = ast.BinOp(tree, ast.Add() if sign == "+" else ast.Sub(), right)
        return kind, tree

    def _signed(self) -> tuple[type, ast.expr]:
        if self._take_sign("!"):
            kind, tree = self._signed()
            if kind is not bool:
                raise _NotPlain
            return bool, ast.UnaryOp(ast.Not(), tree)
        if self._take_sign("-"):
            kind, tree = self._atom()
            if kind not in (int, float) or not isinstance(tree, ast.Constant):
                raise _NotPlain
            return kind, ast.UnaryOp(ast.USub(), tree)
        return self._atom()

    def _atom(self) -> tuple[type, ast.expr]:
        if self._take_sign("("):
            found = self._condition()
            if not self._take_sign(")"):
                raise _NotPlain
            return found
        if not self._tokens:
            raise _NotPlain
        kind, token = self._tokens.pop(0)
        match kind:
            case "int":
                return int, ast.Constant(int(token))
            case "float":
                return float, ast.Constant(float(token))
            case "text":
                return str, ast.Constant(token[1:-1])
            case "name" if token in self._types:
                self._names.add(token)
                return self._types[token], ast.Subscript(ast.Name(_VALUES, ast.Load()), ast.Constant(token), ast.Load())
        raise _NotPlain

    def _take_sign(self, *wanted: str) -> str | None:
        if self._tokens and self._tokens[0][0] == "sign" and self._tokens[0][1] in wanted:
            return self._tokens.pop(0)[1]
        return None


def _split(source: str) -> list[tuple[str, str]]:
    tokens: list[tuple[str, str]] = []
    place = 0
    text = source.rstrip()
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is None or found.lastgroup is None:
            raise _NotPlain
        tokens.append((found.lastgroup, found.group(found.lastgroup)))
        place = found.end()
    return tokens
