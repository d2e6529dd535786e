"""Which language a text is written in, and whether that guess can be relied on."""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from gristmill.operators.text.normalise import Normalised
from gristmill.plans.results import cell

__all__ = ["UNDETERMINED", "Language", "detect_language"]

UNDETERMINED = "und"
"""ISO 639-2 code for "undetermined"."""

LETTERS_MIN = 3
"""With fewer letters ("ok", "xD") every guess is chance."""

RELIABLE_LETTERS = 12
RELIABLE_SCORE = 0.5
"""Of 24 short texts in 20 languages all were right above these bounds; "lol" and names fall below them."""

_LETTER = re.compile(r"[^\W\d_]")
_ADDRESS = re.compile(r"(?:https?://|www\.)\S+")


@cell("language")
class Language(msgspec.Struct, frozen=True):
    """The language of a text.

    Attributes:
        code: ISO 639 code, or `und`.
        score: probability, 0.0 to 1.0.
        reliable: there was enough text and one language stood out.
    """

    code: str
    score: float
    reliable: bool


def detect_language(normalised: Normalised, detect: Callable[[str], tuple[str, float]]) -> Language:
    """Return the language of a text as `detect` (a model: text to code and probability) sees it without its links."""
    text = normalised.text
    if "://" in text or "www." in text:
        text = _ADDRESS.sub(" ", text)
    letter_count = len(_LETTER.findall(text[:400]))
    if letter_count < LETTERS_MIN:
        return Language(UNDETERMINED, 0.0, False)
    code, score = detect(text)
    # One Chinese or Korean letter says as much as several Latin ones.
    enough = letter_count >= RELIABLE_LETTERS or (code in {"zh", "ja", "ko"} and letter_count >= LETTERS_MIN)
    return Language(code, round(score, 4), enough and score >= RELIABLE_SCORE)
