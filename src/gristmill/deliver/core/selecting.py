"""The compiled rules of a subscription: which items it wants, and which of their columns.

A condition that fails on an item, such as one that asks for a field which that item does not have, counts as not
fulfilled, and is counted; `has(item.fields.language)` asks first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from gristmill.deliver.core.document import NAMES
from gristmill.domain.delivery import Subscription
from gristmill.plans.definitions.expression import BadExpression, Expression, compile_expression
from gristmill.plans.names import advise_known

__all__ = ["BadRows", "ColumnChoice", "Selector", "compile_selector"]

ITEM = "item"
MEMBER = re.compile(r"(?<![\w.])item\s*\.\s*([A-Za-z_]\w*)")
LITERAL = re.compile(r"""[rR]?("{3}|'{3})(?:\\.|(?!\1).)*\1|[rR]?("|')(?:\\.|(?!\2)[^\\])*\2""", re.DOTALL)
REMEMBERED_MAX = 10_000
"""Names of columns whose patterns are not tried again; fields of content may have any number of names."""


class BadRows(Exception):
    """A condition that cannot be published: what is wrong, and what to do."""

    def __init__(self, problem: str, advice: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.advice = advice


class ColumnChoice:
    """The columns that one of some patterns allows, such as `labels.*`."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._patterns = tuple(patterns)
        self._wanted: dict[str, bool] = {}

    def choose(self, columns: Mapping[str, Any]) -> dict[str, Any]:
        """Return those columns that a pattern allows."""
        return {name: value for name, value in columns.items() if self._is_wanted(name)}

    def _is_wanted(self, name: str) -> bool:
        wanted = self._wanted.get(name)
        if wanted is None:
            wanted = any(fnmatchcase(name, pattern) for pattern in self._patterns)
            if len(self._wanted) < REMEMBERED_MAX:
                self._wanted[name] = wanted
        return wanted


class Selector:
    """What one subscription takes."""

    def __init__(self, subscription: Subscription, rows: Expression | None, names: frozenset[str]) -> None:
        self._tenant = subscription.tenant
        self._columns = ColumnChoice(subscription.columns)
        self._rows = rows
        self._names = names
        self.error_count = 0

    def wants(self, document: Mapping[str, Any]) -> bool:
        """Whether an item fulfils the condition; one of another tenant never does."""
        if document["tenant"] != self._tenant:
            return False
        if self._rows is None:
            return True
        # The engine takes over whatever it is given, which is most of its cost.
        item = {name: document[name] for name in self._names if name in document}
        try:
            return self._rows.evaluate({ITEM: item}) is True
        except ValueError:
            self.error_count += 1
            return False

    def choose(self, columns: Mapping[str, Any]) -> dict[str, Any]:
        """Return those columns that a pattern allows."""
        return self._columns.choose(columns)


def compile_selector(subscription: Subscription) -> Selector:
    """Check the condition of a subscription and compile it.

    Raises:
        BadRows: syntax, a name that no item has, or no condition.
    """
    if not subscription.rows.strip():
        return Selector(subscription, None, frozenset())
    try:
        expression = compile_expression(subscription.rows)
    except BadExpression as error:
        raise BadRows(error.reason, f"at character {error.column} of: {subscription.rows.strip()}") from error
    for name in sorted(expression.names - {ITEM}):
        raise BadRows(f"unknown name {name!r}", f"write item.{name}; {advise_known(name, NAMES)}")
    names = frozenset(MEMBER.findall(LITERAL.sub("''", subscription.rows)))
    if not names:
        raise BadRows("asks nothing about item", 'write a condition such as: "spam" in item.labels')
    for name in sorted(names - set(NAMES)):
        raise BadRows(f"unknown field {name!r}", advise_known(name, NAMES))
    return Selector(subscription, expression, names)
