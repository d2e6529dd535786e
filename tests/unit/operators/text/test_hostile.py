"""No text makes an operator raise, or keeps it busy: patterns are linear, and only 20,000 characters are analysed."""

from time import process_time

import pytest

from gristmill.operators.text.contacts import find_contacts
from gristmill.operators.text.duplicates import compute_keys
from gristmill.operators.text.head import extract_features
from gristmill.operators.text.normalise import normalise
from gristmill.operators.text.profanity import find_profanity, load_lexicon
from gristmill.operators.text.quality import measure_quality
from gristmill.operators.text.signals import SIGNALS, Findings, collect_signals
from gristmill.operators.text.spam import find_spam_signals
from tests.unit.operators.text.samples import HOSTILE

SECONDS_MAX = 1.0
"""Twenty times what the slowest of these takes here; a pattern that backtracks takes minutes."""


def analyse(raw: str) -> None:
    normalised = normalise(raw)
    contacts = find_contacts(normalised.text)
    prose = normalised if contacts.outside is None else normalise(contacts.outside)
    findings = Findings(
        normalised,
        contacts=contacts,
        profanity=find_profanity(prose, load_lexicon()),
        quality=measure_quality(normalised),
        spam=find_spam_signals(prose),
    )
    compute_keys(normalised, contacts)
    extract_features(findings, prose)
    collect_signals(findings, SIGNALS)


@pytest.mark.parametrize("raw", HOSTILE, ids=lambda raw: ascii(raw[:12]))
def test_hostile_texts_are_analysed_in_bounded_time(raw: str) -> None:
    started = process_time()
    analyse(raw)
    assert process_time() - started < SECONDS_MAX


@pytest.mark.parametrize("raw", HOSTILE, ids=lambda raw: ascii(raw[:12]))
def test_patterns_are_linear_even_without_the_cap(raw: str) -> None:
    text = raw[:100_000]
    started = process_time()
    find_contacts(text)
    assert process_time() - started < SECONDS_MAX
