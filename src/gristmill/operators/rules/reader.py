"""Reading a rule file: YAML in, a RuleSet out, or a refusal that names file, line, rule and the nearest known name.

trusted_hosts: [example.org]          # links there and below are not held against a text
labels:
  spam:
    threshold: 0.5                    # least score for the label
    score: combined                   # CEL over signals and `combined`, which is 1 - product(1 - score of each rule)
rules:
  - id: asks-to-subscribe
    when: subscribe_ask && word_count < 40        # CEL over signals, true or false
    val: spam
    score: 0.85                                   # 0.0 to 1.0, or the name of a signal
    reason: asks for subscriptions
    evidence: [subscribe_ask]                     # signals whose findings are shown
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from gristmill.domain.errors import ConfigError
from gristmill.operators.rules.ruleset import COMBINED, LabelPolicy, Rule, RuleSet
from gristmill.plans.definitions.expression import BadExpression, compile_expression
from gristmill.plans.definitions.yaml_lines import LINES, line_of, load_yaml
from gristmill.plans.names import advise_known

__all__ = ["RULES_MAX", "read_rules"]

RULES_MAX = 500
"""All conditions become one list expression; ten times what the shipped file has."""

_FILE_KEYS = ("trusted_hosts", "labels", "rules")
_RULE_KEYS = ("id", "when", "val", "score", "reason", "evidence")
_LABEL_KEYS = ("threshold", "score")
_SAMPLES: Mapping[type, object] = {bool: True, int: 7, float: 0.7, str: "sample"}
"""A second value per type: conditions that stop early at neutral values go further with these."""


def read_rules(text: str, *, file: str, known: Mapping[str, object]) -> RuleSet:
    """Return the checked rules of a YAML text.

    Args:
        file: name for messages.
        known: every signal with its neutral value, which fixes its type.
    Raises:
        ConfigError: not YAML, an unknown key or signal, an expression that does not compile or fit its signals.
    """
    reader = _Reader(file, known)
    root = reader.load(text)
    labels = reader.read_labels(root.get("labels"))
    rules = reader.read_rules(root.get("rules"), labels)
    hosts = root.get("trusted_hosts") or []
    if not isinstance(hosts, list) or not all(isinstance(host, str) for host in hosts):
        reader.refuse("trusted_hosts", 0, "is no list of hosts", "write trusted_hosts: [example.org]")
    return RuleSet(
        rules,
        labels,
        trusted_hosts=frozenset(host.lower() for host in hosts),
        revision=hashlib.sha256(text.encode("utf-8")).hexdigest()[:12],
        types={name: type(value) for name, value in known.items()},
    )


class _Reader:
    """Checks one file; every refusal carries its name."""

    def __init__(self, file: str, known: Mapping[str, object]) -> None:
        self._file = file
        self._known = known
        self._neutral = dict(known)
        self._sampled = {name: _SAMPLES[type(value)] for name, value in known.items()}

    def refuse(self, thing: str, line: int, problem: str, advice: str) -> NoReturn:
        place = f"{self._file}:{line}" if line else self._file
        raise ConfigError(f"{place}: {thing}: {problem}", advice=advice)

    def load(self, text: str) -> dict[str, Any]:
        root = load_yaml(text, file=self._file)
        if not isinstance(root, dict):
            self.refuse("rule file", 0, "has no keys", "it needs labels: and rules:")
        self._check_keys("rule file", root, _FILE_KEYS)
        return root

    def read_labels(self, node: object) -> dict[str, LabelPolicy]:
        if not isinstance(node, dict) or len(node) < 2:
            self.refuse("labels", 0, "is missing or empty", "list each label with its threshold")
        labels: dict[str, LabelPolicy] = {}
        for val, fields in node.items():
            if val == LINES:
                continue
            thing = f"label {val!r}"
            line = line_of(node, val)
            if not isinstance(fields, dict):
                self.refuse(thing, line, "has no fields", "write threshold: 0.5 below it")
            self._check_keys(thing, fields, _LABEL_KEYS)
            policy = LabelPolicy(self._number(thing, fields, "threshold", 0.5), str(fields.get("score") or ""))
            if policy.score:
                self._check_expression(thing, line_of(fields, "score"), policy.score, float, {COMBINED: 0.5})
            labels[val] = policy
        return labels

    def read_rules(self, node: object, labels: Mapping[str, LabelPolicy]) -> tuple[Rule, ...]:
        if not isinstance(node, list) or not 0 < len(node) <= RULES_MAX:
            self.refuse("rules", 0, "is missing, empty or too long", f"list 1 to {RULES_MAX} rules")
        rules: dict[str, Rule] = {}
        for position, fields in enumerate(node, 1):
            if not isinstance(fields, dict):
                self.refuse(f"rule {position}", 0, "has no fields", "write id:, when:, val:, score:, reason:")
            rule = self._read_rule(position, fields, labels)
            if rule.id in rules:
                self.refuse(f"rule {rule.id!r}", rule.line, "stands twice", "give each rule its own id")
            rules[rule.id] = rule
        return tuple(rules.values())

    def _read_rule(self, position: int, fields: dict[str, Any], labels: Mapping[str, LabelPolicy]) -> Rule:
        thing = f"rule {fields.get('id') or position!r}"
        self._check_keys(thing, fields, _RULE_KEYS)
        for key in ("id", "when", "val", "reason"):
            if not isinstance(fields.get(key), str) or not fields[key].strip():
                self.refuse(thing, line_of(fields, key), f"{key} is missing or no text", f"write {key}: ...")
        line = line_of(fields, "when")
        self._check_expression(thing, line, fields["when"], bool, {})
        if fields["val"] not in labels:
            advice = advise_known(fields["val"], labels)
            self.refuse(thing, line_of(fields, "val"), f"unknown label {fields['val']!r}", advice)
        score = fields.get("score")
        if isinstance(score, str):
            self._check_names(thing, line_of(fields, "score"), [score])
            if not isinstance(self._known[score], float):
                self.refuse(thing, line, f"signal {score!r} is no score", "name a decimal signal or give a number")
        else:
            score = self._number(thing, fields, "score", None)
        evidence = fields.get("evidence") or []
        if not isinstance(evidence, list):
            self.refuse(thing, line_of(fields, "evidence"), "evidence is no list", "write evidence: [signal]")
        self._check_names(thing, line_of(fields, "evidence"), evidence)
        texts = {key: fields[key].strip() for key in ("id", "when", "val", "reason")}
        return Rule(**texts, score=score, evidence=tuple(evidence), line=line)

    def _check_keys(self, thing: str, fields: Mapping[str, Any], allowed: Iterable[str]) -> None:
        for key in fields:
            if key != LINES and key not in allowed:
                self.refuse(thing, line_of(fields, key), f"unknown key {key!r}", advise_known(str(key), allowed))

    def _check_names(self, thing: str, line: int, names: Iterable[object]) -> None:
        for name in names:
            if name not in self._known:
                self.refuse(thing, line, f"unknown signal {name!r}", advise_known(str(name), self._known))

    def _number(self, thing: str, fields: Mapping[str, Any], key: str, default: float | None) -> float:
        value = fields.get(key, default)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0.0 <= value <= 1.0:
            self.refuse(thing, line_of(fields, key), f"{key} is {value!r}", "give a number from 0.0 to 1.0")
        return float(value)

    def _check_expression(self, thing: str, line: int, source: str, wanted: type, extra: Mapping[str, object]) -> None:
        try:
            expression = compile_expression(source)
        except BadExpression as error:
            advice = f"at character {error.column} of: {source.strip()}"
            raise ConfigError(f"{self._file}:{line}: {thing}: {error.reason}", advice=advice) from error
        for name in sorted(expression.names - extra.keys() - self._known.keys()):
            column = source.find(name) + 1
            problem = f"unknown signal {name!r} at character {column}"
            self.refuse(thing, line, problem, advise_known(name, [*self._known, *extra]))
        for values in (self._neutral, self._sampled):
            try:
                value = expression.evaluate({**values, **extra})
            except ValueError as error:
                advice = f"compare integers, decimals and texts with their like in: {source.strip()}"
                raise ConfigError(f"{self._file}:{line}: {thing}: {error}", advice=advice) from error
            if not isinstance(value, wanted):
                self.refuse(thing, line, f"gives {value!r}", f"the expression must give a {wanted.__name__}")
