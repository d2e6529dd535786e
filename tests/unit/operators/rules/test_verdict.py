"""From signals to labels."""

import pytest

from gristmill.operators.rules import LabelPolicy, Rule, RuleFailure, RuleSet, decide


def rule(name: str, when: str, score: float | str, val: str = "spam") -> Rule:
    return Rule(name, when, val, score, f"because {name}", evidence=(name,))


def rules_of(*rules: Rule, **labels: LabelPolicy) -> RuleSet:
    return RuleSet(rules, labels or {"spam": LabelPolicy()}, revision="r1")


def show(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name.upper() for name in names)


def test_scores_add_up_as_independent_hints() -> None:
    verdict = decide(rules_of(rule("a", "x > 0", 0.3), rule("b", "x > 1", 0.4)), {"x": 2}, show)
    (label,) = verdict.labels
    assert label.score == pytest.approx(0.58)
    assert label.reason == "because b; because a"
    assert label.evidence == ("B", "A")
    assert verdict.revision == "r1"


def test_below_the_threshold_the_score_is_told_but_no_label_given() -> None:
    verdict = decide(rules_of(rule("a", "x > 0", 0.3)), {"x": 1}, show)
    assert verdict.labels == ()
    (scored,) = verdict.scores
    assert (scored.val, scored.score, scored.given, scored.rules) == ("spam", 0.3, False, ("a",))


def test_no_rule_no_word() -> None:
    verdict = decide(rules_of(rule("a", "x > 0", 0.9)), {"x": 0}, show)
    assert (verdict.labels, verdict.scores, verdict.failures) == ((), (), ())


def test_a_signal_can_be_the_score() -> None:
    verdict = decide(rules_of(rule("a", "true", "p")), {"p": 0.75}, show)
    assert verdict.labels[0].score == 0.75


def test_a_label_may_compute_its_own_final_score() -> None:
    rules = rules_of(rule("a", "x > 0", 0.9), spam=LabelPolicy(score="trained ? p : combined"))
    assert decide(rules, {"x": 1, "trained": False, "p": 0.0}, show).labels[0].score == 0.9
    assert decide(rules, {"x": 1, "trained": True, "p": 0.1}, show).labels == ()
    alone = decide(rules, {"x": 0, "trained": True, "p": 0.8}, show)
    assert alone.labels[0].reason == "the trained head says so"


def test_a_rule_that_fails_is_named_and_the_others_still_count() -> None:
    rules = rules_of(rule("broken", "10 / x > 1", 0.9), rule("sound", "x == 0", 0.6))
    verdict = decide(rules, {"x": 0}, show)
    assert verdict.labels[0].reason == "because sound"
    (failure,) = verdict.failures
    assert isinstance(failure, RuleFailure)
    assert failure.rule == "broken"


def test_a_final_score_that_fails_falls_back_to_the_rules() -> None:
    rules = rules_of(rule("a", "true", 0.6), spam=LabelPolicy(score="double(1 / x)"))
    verdict = decide(rules, {"x": 0}, show)
    assert verdict.labels[0].score == 0.6
    assert verdict.failures[0].rule == "score of spam"
