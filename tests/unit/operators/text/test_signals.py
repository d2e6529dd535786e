"""The vocabulary of rules."""

from gristmill.operators.text.contacts import find_contacts
from gristmill.operators.text.normalise import normalise
from gristmill.operators.text.signals import HEAD_SIGNALS, SIGNALS, Findings, collect_evidence, collect_signals
from gristmill.operators.text.spam import find_spam_signals


def findings_of(text: str, trusted_hosts: frozenset[str] = frozenset()) -> Findings:
    normalised = normalise(text)
    return Findings(
        normalised,
        contacts=find_contacts(normalised.text),
        spam=find_spam_signals(normalised),
        trusted_hosts=trusted_hosts,
    )


def test_an_empty_text_has_neutral_signals() -> None:
    values = collect_signals(Findings(normalise("")), SIGNALS)
    assert values == {name: signal.neutral for name, signal in SIGNALS.items()}


def test_values_have_the_type_of_their_neutral_value() -> None:
    values = collect_signals(findings_of("Follow me @ann https://a.com?ref=1 +1 415 555 2671"), SIGNALS)
    assert {name for name, value in values.items() if type(value) is not type(SIGNALS[name].neutral)} == set()


def test_trusted_hosts_count_as_links_but_not_as_untrusted_ones() -> None:
    values = collect_signals(
        findings_of("https://a.org/x https://b.com", frozenset({"a.org"})), ["link_count", "untrusted_link_count"]
    )
    assert values == {"link_count": 2, "untrusted_link_count": 1}


def test_evidence_shows_pieces_of_the_text_or_the_value() -> None:
    found = findings_of("follow me: https://a.com and https://a.com")
    assert collect_evidence(found, ["follow_ask", "link_count", "caps_share"]) == (
        "follow me",
        "https://a.com",
        "caps_share 0.00",
    )
    assert (
        len(collect_evidence(findings_of("https://a.com/" + " https://b.com/".join("abcdefghijkl")), ["link_count"]))
        == 8
    )


def test_a_head_sees_known_signals_that_are_numbers() -> None:
    assert all(not isinstance(SIGNALS[name].neutral, str) for name in HEAD_SIGNALS)
