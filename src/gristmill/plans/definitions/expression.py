"""The only file that knows the CEL engine (Common Expression Language).

The engine is `common-expression-language` (Rust). It checks syntax when it compiles, but names and types only when it
runs, and a call costs about 1 us per variable handed over. Hence the habits of whoever uses it: names are checked
against the known ones at load, only what is named is handed over, and many conditions run as one list expression.

Source: https://cel.dev for the language.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Protocol

__all__ = ["BadExpression", "Expression", "compile_expression"]

_BOUND = re.compile(r"\.(?:all|exists|exists_one|map|filter)\(\s*([A-Za-z_]\w*)\s*,")
_POSITION = re.compile(r"<input>:(\d+):(\d+): (?:Syntax error: )?([^\n]{1,200})")


class BadExpression(Exception):
    """An expression that cannot be compiled.

    Attributes:
        reason: what the engine says.
        column: 1-based character of the expression, 0 if unknown.
    """

    def __init__(self, reason: str, column: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.column = column


class Expression(Protocol):
    """A compiled CEL expression; pure, and safe to use from several threads."""

    @property
    def names(self) -> frozenset[str]:
        """Names that must be given, without those that `exists`, `map` and the like bind themselves."""
        ...

    def evaluate(self, values: Mapping[str, Any]) -> Any:
        """Return the value; raise ValueError with the engine's words when types do not fit or a key is missing."""
        ...


class _CelExpression:
    """`Expression` on common-expression-language."""

    def __init__(self, program: Any) -> None:
        self._program = program
        self.names = _find_names(program)

    def evaluate(self, values: Mapping[str, Any]) -> Any:
        try:
            return self._program.execute(values)
        except LookupError as error:
            raise ValueError(f"nothing there: {error}") from error
        except (RuntimeError, TypeError, ValueError, OverflowError, ZeroDivisionError) as error:
            raise ValueError(str(error).partition(" CEL does not coerce")[0]) from error


def compile_expression(source: str) -> Expression:
    """Compile one expression.

    Raises:
        BadExpression: a mistake of syntax, with its column.
    """
    import cel  # Loads the engine's command line too (0.1 s): only who uses rules pays for that.

    try:
        program = cel.compile(source)
    except ValueError as error:
        found = _POSITION.search(str(error))
        if found is None:
            raise BadExpression(str(error).splitlines()[0], 0) from error
        line, column, reason = found.groups()
        offset = sum(len(text) + 1 for text in source.split("\n")[: int(line) - 1])
        raise BadExpression(reason.partition(" expecting ")[0], offset + int(column)) from error
    return _CelExpression(program)


def _find_names(program: Any) -> frozenset[str]:
    """Return the free names of a compiled program."""
    return frozenset(program.variables()) - set(_BOUND.findall(program.source))
