"""Verdicts by rules that are edited without touching code: signals here, conditions in rules.yaml."""

import re
from pathlib import Path

from msgspec import Struct, structs

from gristmill import Flow, Item, Label, Plan, Skip, cell, task, transient
from gristmill.operators.rules import decide, read_rules

PRICE = re.compile(r"(?:[$€£]\s?\d[\d.,]*|\d[\d.,]*\s?(?:eur|usd|euros?|dollars?))", re.IGNORECASE)
PHONE = re.compile(r"\+?\d[\d\s/-]{6,}\d")


@transient
class Signals(Struct, frozen=True):
    """What the rules may ask for, with its neutral value."""

    words: int = 0
    prices: int = 0
    phones: int = 0
    asks: bool = False


@cell("verdict")
class Verdict(Struct, frozen=True):
    rules: tuple[str, ...]
    labels: tuple[Label, ...] = ()


RULES_FILE = Path(__file__).with_name("rules.yaml")
RULES = read_rules(RULES_FILE.read_text(encoding="utf-8"), file=RULES_FILE.name, known=structs.asdict(Signals()))


@task
def has_words(item: Item) -> Skip | None:
    return None if any(character.isalnum() for character in item.text) else Skip("no words")


@task
def signals(item: Item) -> Signals:
    text = item.text
    return Signals(len(text.split()), len(PRICE.findall(text)), len(PHONE.findall(text)), "?" in text)


@task(revision=RULES.revision)
def judge(item: Item, found: Signals) -> Verdict:
    def collect_evidence(names: tuple[str, ...]) -> tuple[str, ...]:
        patterns = {"prices": PRICE, "phones": PHONE}
        return tuple(piece for name in names if name in patterns for piece in patterns[name].findall(item.text))

    verdict = decide(RULES, structs.asdict(found), collect_evidence)
    return Verdict(tuple(rule for scored in verdict.scores for rule in scored.rules), verdict.labels)


plan = Plan("market", tasks=[has_words, signals.use(after=[has_words]), judge])
flow = Flow("market", plans=[plan])
