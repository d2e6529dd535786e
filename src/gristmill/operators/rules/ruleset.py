"""A checked rule file in memory."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from gristmill.plans.definitions.expression import compile_expression

__all__ = ["COMBINED", "LabelPolicy", "Rule", "RuleSet"]

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


class RuleSet:
    """Rules of one file, compiled. Read only.

    Attributes:
        trusted_hosts: hosts whose links are not held against a text.
        revision: hash of the file's text.
        names: the signals that its expressions read; no others need computing.
    """

    def __init__(
        self,
        rules: tuple[Rule, ...],
        labels: Mapping[str, LabelPolicy],
        *,
        trusted_hosts: frozenset[str] = frozenset(),
        revision: str = "",
    ) -> None:
        self.rules = rules
        self.labels = dict(labels)
        self.trusted_hosts = trusted_hosts
        self.revision = revision
        # All conditions as one list: the engine takes the signals over once, which is most of its cost.
        self.conditions = compile_expression("[" + ",".join(f"({rule.when}\n)" for rule in rules) + "]")
        self.finals = {val: compile_expression(policy.score) for val, policy in labels.items() if policy.score}
        names = set(self.conditions.names)
        names.update(*(final.names for final in self.finals.values()))
        names.update(rule.score for rule in rules if isinstance(rule.score, str))
        self.names = tuple(sorted(names - {COMBINED}))
