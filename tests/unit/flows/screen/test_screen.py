"""The flow `screen` as shipped: which labels it gives, and why."""

import pytest

from gristmill import Count, Join
from gristmill.flows.screen import flow, read_shipped_rules
from gristmill.flows.screen.files import load_rules
from gristmill.flows.screen.results import Screened, SharedKeys
from gristmill.operators.text import SIGNALS
from tests.unit.flows.screen.screened import compile_for, run_graph
from tests.unit.operators.text.samples import ADVERTS, HOSTILE, ORDINARY, TRICKY

GRAPH = compile_for(flow.plans[0])


def screen(text: str) -> Screened:
    found = run_graph(GRAPH, text)["screening"]
    assert isinstance(found, Screened)
    return found


def labels_of(text: str) -> set[str]:
    return {label.val for label in screen(text).labels}


@pytest.mark.parametrize("text", ADVERTS)
def test_advertising_is_spam(text: str) -> None:
    assert "spam" in labels_of(text)


@pytest.mark.parametrize("text", [*ORDINARY, *TRICKY])
def test_ordinary_comments_are_not_spam(text: str) -> None:
    assert "spam" not in labels_of(text)


def test_hardly_an_ordinary_comment_is_flagged_at_all() -> None:
    flagged = [text for text in (*ORDINARY, *TRICKY) if labels_of(text) - {"lang"}]
    assert sorted(flagged) == ["❤️❤️", "🔥🔥🔥"]  # no word in them: low-quality


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("you are a fucking idiot, go die", "toxic"),
        ("yоu stupid b!tch", "toxic"),
        ("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "low-quality"),
        ("", "low-quality"),
        ("write to ann.lee@example.com", "pii"),
        ("my number is +44 20 7946 0958", "pii"),
        ("Das Lied lief damals im Radio rauf und runter", "lang"),
    ],
)
def test_other_labels_are_given(text: str, label: str) -> None:
    assert label in labels_of(text)


@pytest.mark.parametrize("text", ["this shit never gets old lol", "damn, that goal!", "holy crap what a view"])
def test_swearing_for_joy_is_not_toxic(text: str) -> None:
    assert "toxic" not in labels_of(text)


def test_a_label_says_why_and_shows_what() -> None:
    (spam,) = [label for label in screen("hey guys, subscribe to my channel").labels if label.val == "spam"]
    assert spam.score > 0.9
    assert spam.reason.startswith("asks for subscriptions")
    assert "subscribe to my" in spam.evidence


def test_the_language_is_evidence_of_its_label() -> None:
    (label,) = screen("Quelqu'un connaît le nom de cette belle actrice ?").labels
    assert (label.val, label.evidence) == ("lang", ("fr",))


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text[:12]))
def test_hostile_texts_pass_through(text: str) -> None:
    assert screen(text).failures == ()


def test_the_item_says_what_it_shares() -> None:
    text = "the harbour was quiet this morning, see https://promo.example.com/x and https://youtu.be/abc"
    found = run_graph(GRAPH, text, created_at_ms=1_000)["shared_keys"]
    assert isinstance(found, SharedKeys)
    exact, near, link = found.contributions
    assert isinstance(exact, Join)
    assert (exact.space, exact.label) == ("exact", "duplicate")
    assert isinstance(near, Join)
    assert (near.space, near.unless) == ("near", "duplicate")
    assert isinstance(link, Count)
    assert (link.key, link.at_ms) == ("promo.example.com/x", 1_000)  # trusted hosts are not counted


def test_texts_are_counted_only_where_they_say_something_of_their_own() -> None:
    spaces = [
        [contribution.space for contribution in run_graph(GRAPH, text)["shared_keys"].contributions]
        for text in ("", "nice song", "I really like this song")
    ]
    assert spaces == [[], ["exact"], ["exact", "text"]]


def test_every_rule_of_the_shipped_file_speaks_for_a_listed_label_and_shows_evidence() -> None:
    rules = load_rules("")
    assert {rule.val for rule in rules.rules} == rules.labels.keys()
    assert [rule.id for rule in rules.rules if not rule.evidence] == []
    assert "trusted_hosts" in read_shipped_rules()
    assert set(rules.names) <= SIGNALS.keys()
