"""Phrases of advertising: found where they are, silent elsewhere."""

import pytest

from gristmill.operators.text.contacts import find_contacts
from gristmill.operators.text.normalise import normalise
from gristmill.operators.text.phrases import PHRASES, Phrase
from gristmill.operators.text.spam import GRAMS_CHARS_MAX, SpamSignals, _find_triggered, find_spam_signals
from tests.unit.operators.text.samples import ADVERTS, ORDINARY, TRICKY

EXAMPLES = {
    "subscribe_ask": "DON'T... forget 2 SUBSCRIBE!!!",
    "audience_beg": "help me get 500 subs by friday",
    "trade_back": "sub4sub anyone",
    "look_ask": "please check out this",
    "follow_ask": "follow me",
    "link_ask": "link in bio",
    "vote_ask": "vote for my sister",
    "like_beg": "thumbs up please",
    "own_channel": "new recipes on my channel",
    "own_work": "listen to my latest track",
    "money_offer": "get paid to watch ads",
    "free_offer": "free gift cards for all",
    "sale_offer": "shoes 50 off",
    "hack_offer": "i can hack any account",
    "newcomer": "i am a small youtuber",
    "creator": "im a rapper from leeds",
    "favour": "it would mean the world to us",
    "hail": "hey everyone",
    "spam_excuse": "sorry for the spam",
    "cites_source": "source below",
}


def find(text: str) -> SpamSignals:
    return find_spam_signals(normalise(text))


def test_every_phrase_has_an_example_here() -> None:
    assert EXAMPLES.keys() == {phrase.signal for phrase in PHRASES}


@pytest.mark.parametrize(("signal", "text"), EXAMPLES.items())
def test_each_phrase_finds_its_example(signal: str, text: str) -> None:
    assert signal in {finding.signal for finding in find(text).findings}


def test_a_match_always_holds_a_trigger() -> None:
    """Else the phrase would be skipped before its pattern is tried."""
    missed = []
    for text in (*ADVERTS, *ORDINARY, *TRICKY, *EXAMPLES.values()):
        words = normalise(text).words
        for phrase in PHRASES:
            found = phrase.pattern.search(words)
            if found is not None and not any(trigger in words for trigger in phrase.triggers):
                missed.append((phrase.signal, found.group()))
    assert missed == []


def test_evidence_is_the_matched_words() -> None:
    (finding,) = find("well, FOLLOW me").findings
    assert (finding.signal, finding.evidence) == ("follow_ask", "follow me")


def test_addresses_are_no_phrases() -> None:
    text = normalise("https://example.com/subscribe-to-me/follow-me")
    outside = find_contacts(text.text).outside
    assert outside is not None
    assert find_spam_signals(normalise(outside)).findings == ()


def test_repetition_is_the_share_of_pairs_seen_before() -> None:
    assert find("buy it now " * 10).repeated_share > 0.8
    assert find("each word in this long sentence stands here only once").repeated_share == 0.0


@pytest.mark.parametrize("times", [1, 3, 60])
@pytest.mark.parametrize("phrase", PHRASES, ids=lambda phrase: phrase.signal)
def test_every_trigger_is_noticed_wherever_it_stands(phrase: Phrase, times: int) -> None:
    for trigger in phrase.triggers:
        for words in (trigger, f"{'zzz ' * times}{trigger}", f"{trigger} {'zzz ' * times}"):
            expected = [one for one in PHRASES if any(trigger in words for trigger in one.triggers)]
            assert _find_triggered(words) == expected
            assert phrase in expected


def test_a_long_text_and_a_short_one_are_looked_through_alike() -> None:
    words = "hey guys check out my channel and subscribe for free robux i make beats "
    long = words + "zzz " * GRAMS_CHARS_MAX
    assert _find_triggered(words) == _find_triggered(long)
    assert _find_triggered("") == _find_triggered("zz") == []
