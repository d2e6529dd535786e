"""One canonical form of a text for every other operator. The item's own text stays as it is.

Two forms come out. `text` is for reading and for links: HTML entities resolved, NFKC, invisible and control characters
gone, whitespace single. `folded` is for matching: case-folded, accents dropped, look-alike letters of other alphabets
put back to Latin inside mixed words, runs of one character cut to two. Both are idempotent.

Bounds: the first TEXT_CHARS_MAX characters are analysed. At most four combining marks in a row are kept, because
canonical ordering of a long run costs the square of its length.
"""

from __future__ import annotations

import html
import re
import unicodedata

import msgspec

from gristmill.plans.results import transient

__all__ = ["TEXT_CHARS_MAX", "Normalised", "fold", "normalise", "plain_words"]

TEXT_CHARS_MAX = 20_000
"""Analysed characters per text; the rest is ignored and `truncated` says so. 20,000 is four long posts."""

PASSES_MAX = 4
"""Entities inside entities, or entities made by NFKC, need another pass; honest text settles in one."""

_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U000e0000-\U000e0fff]"
)
_BETWEEN_LETTERS = re.compile("(?<=[A-Za-z])[\u00ad\u200b\u200e\u200f\u2060-\u2064\ufeff]+(?=[A-Za-z])")
_CONTROL = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ud800-\udfff]")
_STACKED_MARKS = re.compile(
    "([\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff]{4})"
    "[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff]+"
)
_MARKS = re.compile("[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff]+")
_NESTED_AMP = re.compile(r"&(?:amp;)+", re.IGNORECASE)
_RUN = re.compile(r"(\D)\1{2,}")
_LETTERS = re.compile(r"[^\W\d_]+")
_WORD = re.compile(r"[^\W_]+")
_SPELLED = re.compile(r"(?<![^\W_])(?:[^\W\d_] ){3,40}[^\W\d_](?![^\W_])")
_LATIN = re.compile("[a-z]")
_GREEK_OR_CYRILLIC = re.compile("[\u0370-\u052f]")

# Letters that look like Latin ones. They count only beside Latin letters in one word: Russian stays Russian.
_LOOKALIKES = str.maketrans(
    "авеёгикмнопрстухьѕіїјһԁԛԝαβγεηικνοπρστυχωϲ",
    "abeerukmhonpctyxbsiijhdqwabyenikvonpotuxwc",
)
# Small capitals, dotless and barred letters are Latin by nature, so they always fold.
_LATIN_FORMS = str.maketrans(
    "ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢıłøđħ’‘ʼ",
    "abcdefghijklmnoprstuvwyzilodh'''",
)


@transient
class Normalised(msgspec.Struct, frozen=True):
    """A text in its canonical forms.

    Attributes:
        text: for reading, <= TEXT_CHARS_MAX characters (NFKC may add a few).
        folded: for matching.
        words: the words of `folded` alone (see `plain_words`).
        hidden_count: invisible characters between Latin letters, a way to slip past filters.
        lookalike_count: words that mixed alphabets.
        truncated: the text was longer than what was analysed.
    """

    text: str
    folded: str
    words: str
    hidden_count: int = 0
    lookalike_count: int = 0
    truncated: bool = False


def normalise(raw: str) -> Normalised:
    """Return the canonical forms of `raw`; any string is accepted, lone surrogates and NUL included."""
    text = raw[:TEXT_CHARS_MAX]
    hidden_count = 0 if text.isascii() else len(_BETWEEN_LETTERS.findall(text))
    clean = _clean(text)
    folded, lookalike_count = _fold_counting(clean)
    return Normalised(
        text=clean,
        folded=folded,
        words=plain_words(folded),
        hidden_count=hidden_count,
        lookalike_count=lookalike_count,
        truncated=len(raw) > TEXT_CHARS_MAX,
    )


def fold(text: str) -> str:
    """Return the matching form of a clean text."""
    return _fold_counting(text)[0]


def plain_words(folded: str) -> str:
    """Return the words of a folded text with single blanks between them; spelled words are joined.

    "s u b s c r i b e" becomes "subscribe"; apostrophes vanish, so "don't" becomes "dont".
    """
    words = " ".join(_WORD.findall(folded.replace("'", "")))
    return _SPELLED.sub(_join_letters, words)


def _clean(text: str) -> str:
    for _ in range(PASSES_MAX):
        cleaned = _clean_once(text)
        if cleaned == text:
            return text
        text = cleaned[:TEXT_CHARS_MAX].rstrip()
    # Something keeps unfolding: take the meaning from its ampersands, so that another pass changes nothing.
    return _clean_once(text.replace("&", "& "))[:TEXT_CHARS_MAX].rstrip()


def _clean_once(text: str) -> str:
    if "&" in text:
        text = html.unescape(_NESTED_AMP.sub("&", text))
    text = _CONTROL.sub(" ", text)
    if not text.isascii():
        text = _STACKED_MARKS.sub(r"\1", _INVISIBLE.sub("", text))
        text = unicodedata.normalize("NFKC", text)
    return " ".join(text.split())


def _join_letters(spelled: re.Match[str]) -> str:
    return spelled.group().replace(" ", "")


def _fold_counting(text: str) -> tuple[str, int]:
    lookalike_count = 0
    folded = text.casefold()
    if not folded.isascii():
        folded = _MARKS.sub("", unicodedata.normalize("NFKD", folded)).casefold().translate(_LATIN_FORMS)
        if _GREEK_OR_CYRILLIC.search(folded) and _LATIN.search(folded):
            folded, lookalike_count = _unmask(folded)
        folded = unicodedata.normalize("NFC", folded)
    return _RUN.sub(r"\1\1", folded), lookalike_count


def _unmask(folded: str) -> tuple[str, int]:
    """Turn look-alike letters inside words that also have Latin letters; say how many words that were."""
    count = 0

    def to_latin(found: re.Match[str]) -> str:
        nonlocal count
        word = found.group()
        if word.isascii() or not (_LATIN.search(word) and _GREEK_OR_CYRILLIC.search(word)):
            return word
        count += 1
        return word.translate(_LOOKALIKES)

    return _LETTERS.sub(to_latin, folded), count
