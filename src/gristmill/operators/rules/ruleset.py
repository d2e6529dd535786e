"""A checked rule file in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import msgspec

from gristmill.plans.definitions.expression import compile_expression
from gristmill.plans.definitions.plain import build_all, translate

__all__ = ["COMBINED", "Conditions", "FinalScore", "LabelPolicy", "Rule", "RuleSet"]

SCORES_KEPT = 1_024
NO_TYPES: Mapping[str, type] = MappingProxyType({})

COMBINED = "combined"
"""The name under which a label's own expression reads the score that its rules have together."""


class Rule(msgspec.Struct, frozen=True):
    """One rule: when it holds, it speaks for the label `val` with its score.

    Attributes:
        when: CEL over signals, true or false.
        score: 0.0 to 1.0; or the name of the signal that is the score.
        evidence: signals whose findings are shown.
        line: of the condition in its file, from 1.
    """

    id: str
    when: str
    val: str
    score: float | str
    reason: str
    evidence: tuple[str, ...] = ()
    line: int = 0


class LabelPolicy(msgspec.Struct, frozen=True):
    """How the scores of rules become a label.

    Attributes:
        threshold: least final score for the label.
        score: CEL over signals and `combined`; empty for `combined` itself.
    """

    threshold: float = 0.5
    score: str = ""


class Conditions:
    """The conditions of many rules, evaluated together.

    Args:
        types: signal -> type of its values. Conditions that need no more than this run in Python, the others in the
            engine.
    """

    def __init__(self, sources: Sequence[str], types: Mapping[str, type]) -> None:
        translated = [translate(source, types) for source in sources]
        plain = [condition for condition in translated if condition is not None]
        others = [source for source, condition in zip(sources, translated, strict=True) if condition is None]
        self._is_plain = [condition is not None for condition in translated]
        self._evaluate_plain = build_all(plain)
        # All of them as one list: the engine takes the signals over once, which is most of its cost.
        source = "[" + ",".join(f"({source}\n)" for source in others) + "]"
        self._others = compile_expression(source) if others else None
        names = frozenset[str]().union(*(condition.names for condition in plain))
        self._names_of_others = self._others.names if self._others is not None else frozenset()
        self.names = names | self._names_of_others

    def evaluate(self, signals: Mapping[str, Any]) -> list[Any]:
        """Return the value of each condition; raise ValueError when one cannot be evaluated."""
        found: list[Any] = self._evaluate_plain(signals)
        if self._others is None:
            return found
        others = iter(self._others.evaluate({name: signals[name] for name in self._names_of_others}))
        plain = iter(found)
        return [next(plain if is_plain else others) for is_plain in self._is_plain]


class FinalScore:
    """The expression that makes a label's score of the combined score of its rules.

    `names` are the signals that it reads, `combined` included.
    """

    def __init__(self, source: str) -> None:
        expression = compile_expression(source)
        self.names = expression.names
        self._order = tuple(sorted(expression.names))

        # Most texts hold no rule or one of a few sets of rules, so the same values come again and again. An integer
        # is no decimal to the engine.
        @lru_cache(maxsize=SCORES_KEPT, typed=True)
        def evaluate(*values: Any) -> float:
            return float(expression.evaluate(dict(zip(self._order, values, strict=True))))

        self._evaluate = evaluate

    def evaluate(self, signals: Mapping[str, Any], combined: float) -> float:
        """Return the score; raise ValueError when it cannot be evaluated."""
        return self._evaluate(*[combined if name == COMBINED else signals[name] for name in self._order])


class RuleSet:
    """Rules of one file, compiled. Read only.

    Attributes:
        trusted_hosts: hosts whose links are not held against a text.
        revision: hash of the file's text.
        names: the signals that its expressions read; no others need computing.

    Args:
        types: signal -> type of its values, for conditions to be evaluated faster.
    """

    def __init__(
        self,
        rules: tuple[Rule, ...],
        labels: Mapping[str, LabelPolicy],
        *,
        trusted_hosts: frozenset[str] = frozenset(),
        revision: str = "",
        types: Mapping[str, type] = NO_TYPES,
    ) -> None:
        self.rules = rules
        self.labels = dict(labels)
        self.trusted_hosts = trusted_hosts
        self.revision = revision
        self.conditions = Conditions([rule.when for rule in rules], types)
        self.finals = {val: FinalScore(policy.score) for val, policy in labels.items() if policy.score}
        names = set(self.conditions.names)
        names.update(*(final.names for final in self.finals.values()))
        names.update(rule.score for rule in rules if isinstance(rule.score, str))
        self.names = tuple(sorted(names - {COMBINED}))
