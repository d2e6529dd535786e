"""Phrases of advertising, begging and self-promotion, as patterns over plain words.

Each pattern describes a move ("asks to subscribe", "offers money"), never a name, a product or a site. They read the
output of `plain_words`: folded words, single blanks, no punctuation and no apostrophes, so "DON'T... forget 2 SUB!!!"
arrives as "dont forget 2 sub".

`triggers` are substrings of which at least one occurs in every match; looking for them first makes a text without
any of them cost half a microsecond a pattern. All repeats are bounded, so matching is linear in the text.
"""

from gristmill.operators.text.phrases.asks import ASKS
from gristmill.operators.text.phrases.offers import OFFERS
from gristmill.operators.text.phrases.phrase import Phrase
from gristmill.operators.text.phrases.voices import VOICES

__all__ = ["PHRASES", "Phrase"]

PHRASES: tuple[Phrase, ...] = (*ASKS, *OFFERS, *VOICES)
