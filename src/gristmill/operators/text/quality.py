"""Plain measures of a text's form: how long, how loud, how repetitive."""

from __future__ import annotations

import math
import re
from collections import Counter

import msgspec

from gristmill.operators.text.normalise import Normalised
from gristmill.plans.results import cell

__all__ = ["Quality", "measure_quality"]

MEASURED_CHARS_MAX = 4_000
"""Shares settle long before; bounds the cost of a long text."""

_RUN = re.compile(r"(\S)\1{3,}")


@cell("quality")
class Quality(msgspec.Struct, frozen=True):
    """Measures of form. Shares are 0.0 to 1.0 and zero for an empty text.

    Attributes:
        length: characters of the whole clean text.
        word_count: words of the measured part.
        letter_share, digit_share, symbol_share: of the visible characters; symbols are all others, emoji too.
        caps_share: capitals among the letters.
        distinct_share: different words among all words.
        run_length: longest run of one character, if longer than three, else 0.
        entropy: bits per character; English prose has about 4.2, "aaaa" has 0.
    """

    length: int = 0
    word_count: int = 0
    letter_share: float = 0.0
    digit_share: float = 0.0
    symbol_share: float = 0.0
    caps_share: float = 0.0
    distinct_share: float = 0.0
    run_length: int = 0
    entropy: float = 0.0


def measure_quality(normalised: Normalised) -> Quality:
    """Return the measures of a text."""
    text = normalised.text[:MEASURED_CHARS_MAX]
    if not text:
        return Quality()
    counts = Counter(text)
    blanks = counts.pop(" ", 0)
    visible = max(1, len(text) - blanks)
    letters = digits = capitals = 0
    for char, count in counts.items():
        if char.isalpha():
            letters += count
            if char.isupper():
                capitals += count
        elif char.isdecimal():
            digits += count
    words = normalised.words[:MEASURED_CHARS_MAX].split()
    return Quality(
        length=len(normalised.text),
        word_count=len(words),
        letter_share=letters / visible,
        digit_share=digits / visible,
        symbol_share=(visible - letters - digits) / visible,
        caps_share=capitals / max(1, letters),
        distinct_share=len(set(words)) / max(1, len(words)),
        run_length=max((len(run.group()) for run in _RUN.finditer(text)), default=0),
        entropy=_entropy(counts, visible),
    )


def _entropy(counts: Counter[str], total: int) -> float:
    return -sum(count * math.log2(count / total) for count in counts.values()) / total + 0.0
