"""Laws of the text operators that hold for any text."""

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.operators.text.contacts import Contacts, find_contacts
from gristmill.operators.text.duplicates import TextKeys, compute_keys
from gristmill.operators.text.head import extract_features, load_head, train_head
from gristmill.operators.text.normalise import Normalised, fold, normalise
from gristmill.operators.text.profanity import Profanity, find_profanity, load_lexicon
from gristmill.operators.text.quality import Quality, measure_quality
from gristmill.operators.text.signals import SIGNALS, Findings, collect_evidence, collect_signals
from gristmill.operators.text.spam import SpamSignals, find_spam_signals

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=200)
"""Lone surrogates, controls and unassigned code points included."""

AWKWARD = st.lists(
    st.sampled_from(
        [
            *"ab .&;#@[]()*$!\u0301\u200b\u00adсеа１ﷺ",
            "amp;",
            "lt;",
            "#38;",
            "dot",
            "com",
            "http://",
            "www.",
            "sub",
            "my ",
        ]
    ),
    max_size=60,
).map("".join)
"""Made of what normalisation and the extractors look for."""

TEXTS = ANY_TEXT | AWKWARD


@given(TEXTS)
def test_normalising_twice_changes_nothing(raw: str) -> None:
    once = normalise(raw)
    twice = normalise(once.text)
    assert (twice.text, twice.folded, twice.words) == (once.text, once.folded, once.words)
    assert fold(once.folded) == once.folded


@given(TEXTS)
def test_a_clean_text_can_be_stored_and_shown(raw: str) -> None:
    text = normalise(raw).text
    assert text.encode("utf-8").decode("utf-8") == text
    assert "  " not in text
    assert text == text.strip()
    assert "\x00" not in text


@given(TEXTS)
def test_findings_survive_their_encoding(raw: str) -> None:
    normalised = normalise(raw)
    contacts = find_contacts(normalised.text)
    results: list[tuple[object, type]] = [
        (normalised, Normalised),
        (contacts, Contacts),
        (find_profanity(normalised, load_lexicon()), Profanity),
        (measure_quality(normalised), Quality),
        (find_spam_signals(normalised), SpamSignals),
        (compute_keys(normalised, contacts), TextKeys),
    ]
    for value, kind in results:
        assert msgspec.json.decode(msgspec.json.encode(value), type=kind) == value


@given(TEXTS)
def test_equal_texts_have_equal_keys_and_signals(raw: str) -> None:
    first, second = findings_of(raw), findings_of(normalise(raw).text)
    assert compute_keys(first.normalised, first.contacts) == compute_keys(second.normalised, second.contacts)
    hidden = {"hidden_count", "lookalike_count", "is_truncated"}  # what the first pass took away
    names = SIGNALS.keys() - hidden
    assert collect_signals(first, sorted(names)) == collect_signals(second, sorted(names))
    collect_evidence(first, sorted(names))


@settings(max_examples=15)
@given(st.lists(st.tuples(TEXTS, st.booleans()), min_size=4, max_size=12))
def test_a_head_survives_its_bytes(examples: list[tuple[str, bool]]) -> None:
    features = [extract_features(findings_of(raw), normalise(raw)) for raw, _label in examples]
    labels = [True, True, False, False, *(label for _raw, label in examples[4:])]
    head = train_head(features, labels)
    again = load_head(head.dump())
    assert again.revision == head.revision
    assert [again.score(one) for one in features] == [head.score(one) for one in features]


def findings_of(raw: str) -> Findings:
    normalised = normalise(raw)
    return Findings(
        normalised,
        contacts=find_contacts(normalised.text),
        profanity=find_profanity(normalised, load_lexicon()),
        quality=measure_quality(normalised),
        spam=find_spam_signals(normalised),
    )
