"""What the rules of a file say about one text.

Rules that hold for a label add up as independent hints: combined = 1 - product(1 - score). A label whose final score
reaches its threshold is given, with the reasons and the evidence of the strongest rules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from gristmill.domain.item import Label
from gristmill.operators.rules.ruleset import Rule, RuleSet
from gristmill.plans.definitions.expression import compile_expression

__all__ = ["RuleFailure", "Scored", "Verdict", "decide"]

REASONS_MAX = 3
"""A person reads no more; the ids of all rules stand in `Scored.rules`."""


class Scored(msgspec.Struct, frozen=True):
    """The score of one label, given or not, and the rules behind it, strongest first."""

    val: str
    score: float
    given: bool
    rules: tuple[str, ...]


class RuleFailure(msgspec.Struct, frozen=True):
    """A rule or label whose expression failed on this text; it counted as not holding."""

    rule: str
    problem: str


class Verdict(msgspec.Struct, frozen=True):
    """Labels that reach their thresholds, all scores, and what failed (an empty tuple in a sound file)."""

    labels: tuple[Label, ...] = ()
    scores: tuple[Scored, ...] = ()
    failures: tuple[RuleFailure, ...] = ()
    revision: str = ""


def decide(
    rules: RuleSet, signals: Mapping[str, Any], collect_evidence: Callable[[tuple[str, ...]], tuple[str, ...]]
) -> Verdict:
    """Return the verdict of `rules` on `signals`, which must hold all of `rules.names`.

    Args:
        collect_evidence: signal names to pieces of the text; called for given labels only.
    """
    failures: list[RuleFailure] = []
    holding: dict[str, list[tuple[float, Rule]]] = {}
    for rule in _find_holding(rules, signals, failures):
        score = signals[rule.score] if isinstance(rule.score, str) else rule.score
        holding.setdefault(rule.val, []).append((min(1.0, max(0.0, score)), rule))
    labels: list[Label] = []
    scores: list[Scored] = []
    for val, policy in rules.labels.items():
        found = sorted(holding.get(val, ()), key=lambda pair: -pair[0])
        score = _final_score(rules, val, _combine(found), signals, failures)
        given = score >= policy.threshold and score > 0.0
        if given:
            labels.append(_label(val, score, found, collect_evidence))
        if given or found:
            scores.append(Scored(val, score, given, tuple(rule.id for _score, rule in found)))
    return Verdict(tuple(labels), tuple(scores), tuple(failures), rules.revision)


def _find_holding(rules: RuleSet, signals: Mapping[str, Any], failures: list[RuleFailure]) -> list[Rule]:
    try:
        held = rules.conditions.evaluate(signals)
    except ValueError:
        held = [_holds_alone(rule, signals, failures) for rule in rules.rules]
    return [rule for rule, holds in zip(rules.rules, held, strict=True) if holds is True]


def _holds_alone(rule: Rule, signals: Mapping[str, Any], failures: list[RuleFailure]) -> bool:
    """Find the rule that fails, which a list of all hides; rare, so compiling again does no harm."""
    try:
        return compile_expression(rule.when).evaluate(signals) is True
    except ValueError as error:
        failures.append(RuleFailure(rule.id, str(error)))
        return False


def _combine(found: list[tuple[float, Rule]]) -> float:
    doubt = 1.0
    for score, _rule in found:
        doubt *= 1.0 - score
    return 1.0 - doubt


def _final_score(
    rules: RuleSet, val: str, combined: float, signals: Mapping[str, Any], failures: list[RuleFailure]
) -> float:
    final = rules.finals.get(val)
    if final is None:
        return round(combined, 4)
    try:
        return round(min(1.0, max(0.0, final.evaluate(signals, combined))), 4)
    except ValueError as error:
        failures.append(RuleFailure(f"score of {val}", str(error)))
        return round(combined, 4)


def _label(
    val: str,
    score: float,
    found: list[tuple[float, Rule]],
    collect_evidence: Callable[[tuple[str, ...]], tuple[str, ...]],
) -> Label:
    reasons = list(dict.fromkeys(rule.reason for _score, rule in found))[:REASONS_MAX]
    names = dict.fromkeys(name for _score, rule in found for name in rule.evidence)
    return Label(
        val=val,
        score=score,
        reason="; ".join(reasons) or "the trained head says so",
        evidence=collect_evidence(tuple(names)),
    )
