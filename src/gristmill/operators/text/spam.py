"""Signals of spam in one text: which moves of advertising it makes, with the words that show them.

Only finds; how much each signal weighs is decided by the rules (see `operators.rules`).
"""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

import msgspec

from gristmill.operators.text.normalise import Normalised
from gristmill.operators.text.phrases import PHRASES, Phrase
from gristmill.plans.results import transient

__all__ = ["Finding", "SpamSignals", "find_spam_signals"]

EVIDENCE_CHARS_MAX = 80

WORDS_CHARS_MAX = 4_000
"""Phrases are looked for in the first 4,000 characters: advertising does not hide behind an essay."""


GRAM_CHARS = 3
GRAMS_CHARS_MAX = 600
"""Up to here it is cheaper to take a text apart and look its pieces up than to look for each of some 300 triggers."""


class Finding(msgspec.Struct, frozen=True):
    """A signal and the words of the text that gave it."""

    signal: str
    evidence: str


@transient
class SpamSignals(msgspec.Struct, frozen=True):
    """Signals found in a text, in the order of `PHRASES`, each once.

    Attributes:
        repeated_share: share of word pairs that occurred before in this text, 0.0 to 1.0.
    """

    findings: tuple[Finding, ...] = ()
    repeated_share: float = 0.0


def find_spam_signals(prose: Normalised) -> SpamSignals:
    """Return the signals of a text without its links: the words of addresses are no phrases."""
    words = prose.words[:WORDS_CHARS_MAX]
    findings: list[Finding] = []
    for phrase in _find_triggered(words):
        found = phrase.pattern.search(words)
        if found is not None:
            findings.append(Finding(phrase.signal, found.group().strip()[:EVIDENCE_CHARS_MAX]))
    return SpamSignals(findings=tuple(findings), repeated_share=_repeated_share(words))


def _find_triggered(words: str) -> list[Phrase]:
    """Return the phrases of which a trigger occurs, in the order of `PHRASES`."""
    if len(words) > GRAMS_CHARS_MAX:
        return [phrase for phrase in PHRASES if any([trigger in words for trigger in phrase.triggers])]
    grams = {words[start : start + GRAM_CHARS] for start in range(len(words) - GRAM_CHARS + 1)}
    found = {index for trigger, index in _SHORT if trigger in words}
    for gram in grams & _BY_GRAM.keys():
        for trigger, index in _BY_GRAM[gram]:
            if index not in found and trigger in words:
                found.add(index)
    return [PHRASES[index] for index in sorted(found)]


_ALL = [(trigger, index) for index, phrase in enumerate(PHRASES) for trigger in phrase.triggers]
_SHORT = [(trigger, index) for trigger, index in _ALL if len(trigger) < GRAM_CHARS]
_BY_GRAM: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
for _trigger, _index in _ALL:
    if len(_trigger) >= GRAM_CHARS:
        _BY_GRAM[_trigger[:GRAM_CHARS]].append((_trigger, _index))


def _repeated_share(words: str) -> float:
    parts = words.split()
    if len(parts) < 8:
        return 0.0
    pairs = list(pairwise(parts))
    return 1.0 - len(set(pairs)) / len(pairs)
