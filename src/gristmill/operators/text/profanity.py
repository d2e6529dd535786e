"""Swearing, insults, slurs and threats, also when they are disguised.

Whole words are matched, never parts, so Scunthorpe, cocktails and assassins are safe. A disguise is undone first:
look-alike letters and spelled-out words by `normalise`, here digits and signs for letters (`sh1t`, `a$$`), masks
(`f**k`), separators between single letters (`f.u.c.k`) and stretched letters (`fuuuck`).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from importlib import resources
from typing import Final

import msgspec

from gristmill.operators.text.normalise import Normalised
from gristmill.plans.results import transient

__all__ = ["Lexicon", "Profanity", "ProfanityHit", "find_profanity", "load_lexicon", "read_lexicon"]

HITS_MAX = 32
"""Hits kept as evidence; counts go on."""

CHUNK_CHARS_MAX = 24
"""Disguised words are short; longer chunks are links and hashes."""

CHUNKS_MAX = 500
"""Disguised chunks looked at per text."""

_ENDINGS: Final = ("", "s", "es", "ed", "er", "ers", "ing", "in", "y")
_SIGNS = str.maketrans("0134578@$!|+€", "oieastbasilte")
_OUTER = ".,;:?\"'()[]{}<>*_~`-/\\"
_EDGES = _OUTER + "!"
_SEPARATED = re.compile(r"[^\W\d_](?:[.\-_*][^\W\d_]){2,15}")
_MASKED = re.compile(r"[^\W\d_][^\W\d_*#]{0,10}[*#][^\W\d_*#]{0,10}(?:[*#]{1,10}[^\W\d_]{0,10})?[^\W\d_]")
_DOUBLED = re.compile(r"(.)\1")
_SECOND_PERSON = frozenset(
    "you u your ur yours yourself youre ure tu te toi vous du dich dein deine usted ustedes voce ты вы тебя".split()
)


class ProfanityHit(msgspec.Struct, frozen=True):
    """A listed word and how it stood in the text."""

    word: str
    found: str
    severity: int
    category: str


@transient
class Profanity(msgspec.Struct, frozen=True):
    """What was found.

    Attributes:
        severity: of the worst hit; 0 nothing, 1 mild, 2 strong, 3 hateful or threatening.
        count: hits, repeats included.
        insult_count: hits that are insults.
        slur_count: hits that are slurs.
        threat_count: hits that are threats.
        disguised_count: hits that had been hidden.
        share: hits per word of the text.
        second_person: the text speaks to someone.
    """

    severity: int = 0
    count: int = 0
    insult_count: int = 0
    slur_count: int = 0
    threat_count: int = 0
    disguised_count: int = 0
    share: float = 0.0
    second_person: bool = False
    hits: tuple[ProfanityHit, ...] = ()


class Lexicon(msgspec.Struct, frozen=True):
    """Listed words and phrases, each with severity and category.

    Attributes:
        words: every form of every word.
        phrases: first word of a phrase to the phrases that begin with it, longest first.
        masked: (first letter, last letter, length) to the words of that shape.
    """

    words: dict[str, tuple[str, int, str]]
    phrases: dict[str, tuple[tuple[tuple[str, ...], int, str], ...]]
    masked: dict[tuple[str, str, int], tuple[str, ...]]


@cache
def load_lexicon() -> Lexicon:
    """Return the shipped lexicon, read once."""
    return read_lexicon(resources.files(__package__).joinpath("data/profanity.tsv").read_text("utf-8"))


def read_lexicon(table: str) -> Lexicon:
    """Return the lexicon in a tab-separated table (its first lines say what the columns mean)."""
    words: dict[str, tuple[str, int, str]] = {}
    phrases: dict[str, list[tuple[tuple[str, ...], int, str]]] = defaultdict(list)
    for line in table.splitlines():
        if not line or line.startswith("#"):
            continue
        term, severity, category, forms = line.split("\t")
        if " " in term:
            parts = tuple(term.split())
            phrases[parts[0]].append((parts, int(severity), category))
            continue
        for ending in _ENDINGS if forms == "+" else ("",):
            words.setdefault(term + ending, (term, int(severity), category))
    masked: dict[tuple[str, str, int], list[str]] = defaultdict(list)
    for word in words:
        if len(word) > 2:
            masked[word[0], word[-1], len(word)].append(word)
    return Lexicon(
        words=words,
        phrases={first: tuple(sorted(found, key=len, reverse=True)) for first, found in phrases.items()},
        masked={shape: tuple(found) for shape, found in masked.items()},
    )


def find_profanity(normalised: Normalised, lexicon: Lexicon) -> Profanity:
    """Return the listed words in a text."""
    words = normalised.words.split()
    hits = [*_find_phrases(words, lexicon), *_find_words(words, lexicon), *_find_disguised(normalised, lexicon)]
    if not hits:
        return Profanity()
    categories = [hit.category for hit in hits]
    return Profanity(
        severity=max(hit.severity for hit in hits),
        count=len(hits),
        insult_count=categories.count("insult"),
        slur_count=categories.count("slur"),
        threat_count=categories.count("threat"),
        disguised_count=sum(hit.found != hit.word and not hit.found.startswith(hit.word) for hit in hits),
        share=min(1.0, len(hits) / max(1, len(words))),
        second_person=not _SECOND_PERSON.isdisjoint(words),
        hits=tuple(hits[:HITS_MAX]),
    )


def _find_words(words: list[str], lexicon: Lexicon) -> Iterator[ProfanityHit]:
    listed = lexicon.words
    for word in words:
        entry = listed.get(word)
        if entry is None and _DOUBLED.search(word):
            entry = listed.get(_squeeze(word))
        if entry is not None:
            yield ProfanityHit(entry[0], word, entry[1], entry[2])


def _find_phrases(words: list[str], lexicon: Lexicon) -> Iterator[ProfanityHit]:
    if lexicon.phrases.keys().isdisjoint(words):
        return
    for index, word in enumerate(words):
        for parts, severity, category in lexicon.phrases.get(word, ()):
            if tuple(words[index : index + len(parts)]) == parts:
                phrase = " ".join(parts)
                yield ProfanityHit(phrase, phrase, severity, category)
                break


def _find_disguised(normalised: Normalised, lexicon: Lexicon) -> Iterator[ProfanityHit]:
    looked_at = 0
    for chunk in normalised.folded.split():
        inner = chunk.strip(_EDGES)
        if not 2 < len(chunk) <= CHUNK_CHARS_MAX or (inner.isalpha() and chunk[0] not in "$@"):
            continue
        looked_at += 1
        if looked_at > CHUNKS_MAX:
            return
        word = _unmask(chunk, inner, lexicon)
        if word is not None:
            term, severity, category = lexicon.words[word]
            yield ProfanityHit(term, chunk, severity, category)


def _unmask(chunk: str, inner: str, lexicon: Lexicon) -> str | None:
    """Return the listed word that a chunk with digits or signs stands for (`inner`: without its outer marks)."""
    if _SEPARATED.fullmatch(inner):
        joined = re.sub(r"[.\-_*]", "", inner)
        return joined if joined in lexicon.words else None
    if _MASKED.fullmatch(inner):
        return _fill_mask(inner, lexicon)
    plain = chunk.strip(_OUTER)
    if not any(char.isalpha() for char in plain):
        return None
    for candidate in (plain, plain.rstrip("!")):
        decoded = candidate.translate(_SIGNS)
        if decoded != candidate and decoded.isalpha():
            if decoded in lexicon.words:
                return decoded
            if _squeeze(decoded) in lexicon.words:
                return _squeeze(decoded)
    return None


def _fill_mask(masked: str, lexicon: Lexicon) -> str | None:
    letters = sum(char.isalpha() for char in masked)
    if letters * 2 < len(masked):
        return None
    for word in lexicon.masked.get((masked[0], masked[-1], len(masked)), ()):
        fits = all(left == right or left in "*#" for left, right in zip(masked, word, strict=True))
        if fits and (lexicon.words[word][1] >= 2 or "shit" in word):
            return word
    return None


def _squeeze(word: str) -> str:
    """Drop repeats: "fuuck" becomes "fuck". `normalise` has cut longer runs to two."""
    return "".join(char for index, char in enumerate(word) if index == 0 or char != word[index - 1])
