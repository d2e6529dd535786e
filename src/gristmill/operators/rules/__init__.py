"""Rules as data: conditions in CEL over named signals, in a file that is edited without touching code."""

from gristmill.operators.rules.reader import read_rules
from gristmill.operators.rules.ruleset import LabelPolicy, Rule, RuleSet
from gristmill.operators.rules.verdict import RuleFailure, Scored, Verdict, decide
from gristmill.plans.definitions.expression import Expression, compile_expression

__all__ = [
    "Expression",
    "LabelPolicy",
    "Rule",
    "RuleFailure",
    "RuleSet",
    "Scored",
    "Verdict",
    "compile_expression",
    "decide",
    "read_rules",
]
