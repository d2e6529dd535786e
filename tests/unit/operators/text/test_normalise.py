"""One canonical form of a text."""

import pytest

from gristmill.operators.text.normalise import TEXT_CHARS_MAX, fold, normalise, plain_words
from tests.unit.operators.text.samples import HOSTILE


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("Tom &amp; Jerry &amp;lt;3", "Tom & Jerry <3"),
        ("ＤＡＭＮ ﬁne ①", "DAMN fine 1"),
        ("  two\n\tlines \u00a0 here ", "two lines here"),
        ("zero\u200bwidth\ufeff", "zerowidth"),
        ("nul\x00 and \ud800 surrogate", "nul and surrogate"),
        ("&#70;REE", "FREE"),
    ],
)
def test_text_is_readable_afterwards(raw: str, text: str) -> None:
    assert normalise(raw).text == text


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("Ünïcödé Straße", "unicode strasse"),
        ("ѕubsсribe", "subscribe"),
        ("Привет мир", "привет мир"),
        ("soooo goooood", "soo good"),
        ("1000000", "1000000"),
        ("ᴘʟᴇᴀꜱᴇ", "please"),
    ],
)
def test_folding_brings_disguises_together_and_leaves_other_alphabets(text: str, folded: str) -> None:
    assert fold(text) == folded


def test_words_are_plain_and_spelled_words_are_joined() -> None:
    assert plain_words("don't... s u b s c r i b e, it is a b!") == "dont subscribe it is a b"


def test_hidden_and_lookalike_letters_are_counted() -> None:
    found = normalise("s\u200bu\u200bb to my сhannel")
    assert (found.hidden_count, found.lookalike_count, found.words) == (2, 1, "sub to my channel")


def test_only_the_first_characters_are_analysed() -> None:
    found = normalise("a b " * 20_000)
    assert len(found.text) <= TEXT_CHARS_MAX
    assert found.truncated


@pytest.mark.parametrize("raw", HOSTILE, ids=lambda raw: ascii(raw[:12]))
def test_hostile_texts_settle(raw: str) -> None:
    found = normalise(raw)
    assert len(found.text) <= TEXT_CHARS_MAX
    assert normalise(found.text).text == found.text
