"""The plan of the flow `screen`, and variants of it with other rules or a trained head."""

from __future__ import annotations

from gristmill.flows.screen.deciding import embedding, gathered, head_score, screening, shared_keys
from gristmill.flows.screen.files import load_head_file, load_rules
from gristmill.flows.screen.reading import contacts, language, normalised, profanity, prose, quality, spam_signals, tone
from gristmill.flows.screen.results import HeadScore
from gristmill.plans.plan import Plan

__all__ = ["build_plan"]


def build_plan(key: str = "screen", *, version: int = 1, rules: str = "", head: str = "") -> Plan:
    """Return a plan that screens text.

    Args:
        key: the plan key; another than `screen` for a plan beside the shipped one.
        rules: path of a rule file; empty for the shipped one.
        head: path of a trained head (see `operators.text.head`); empty to let the rules decide spam alone.
    Raises:
        ConfigError: the rule file is wrong (see `operators.rules.read_rules`), or a file cannot be read.
        DataError: the head file holds no head, or one of other features.
    """
    # A user's files are read here, so that a mistake in them keeps the plan from starting.
    if rules:
        load_rules(rules)
    if head:
        load_head_file(head)
    read = [normalised, language, contacts, prose, profanity, tone, quality, spam_signals, gathered]
    decided = [shared_keys.use(rules=rules)]
    if head:
        decided += [embedding.use(), head_score.use(head=head, rules=rules), screening.use(rules=rules)]
    else:
        decided.append(screening.use(rules=rules, absent=[HeadScore]))
    return Plan(key, version=version, tasks=[*read, *decided])
