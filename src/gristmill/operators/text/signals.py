"""The vocabulary of rules: every signal's name, meaning and neutral value, filled from the findings about one text.

A rule file may use these names and no others. A neutral value also fixes the type: rules compare integers with
integers or decimals, decimals with decimals, texts with texts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Set
from functools import lru_cache
from types import MappingProxyType

import msgspec

from gristmill.operators.text.contacts import Contacts
from gristmill.operators.text.language import UNDETERMINED, Language
from gristmill.operators.text.links import is_on_host, is_referral
from gristmill.operators.text.normalise import Normalised
from gristmill.operators.text.phrases import PHRASES
from gristmill.operators.text.profanity import Profanity
from gristmill.operators.text.quality import Quality
from gristmill.operators.text.spam import SpamSignals

__all__ = ["HEAD_SIGNALS", "SIGNALS", "Findings", "Signal", "SignalValue", "collect_evidence", "collect_signals"]

SignalValue = bool | int | float | str

EVIDENCE_MAX = 8
"""Pieces of evidence per label."""

EVIDENCE_CHARS_MAX = 120


class Findings(msgspec.Struct, frozen=True):
    """All that rules may ask about one text. What was not computed stays neutral.

    Attributes:
        trusted_hosts: sites whose links are no sign of spam.
        tone: -1.0 (hostile) to 1.0 (friendly).
        image_count: pictures that the item comes with.
        head_score: of the trained head, or None without one.
    """

    normalised: Normalised
    contacts: Contacts = Contacts()
    language: Language = Language(UNDETERMINED, 0.0, False)
    profanity: Profanity = Profanity()
    quality: Quality = Quality()
    spam: SpamSignals = SpamSignals()
    trusted_hosts: frozenset[str] = frozenset()
    kind: str = "post"
    tone: float = 0.0
    image_count: int = 0
    head_score: float | None = None


class Signal(msgspec.Struct, frozen=True):
    """One name that rules may use.

    Attributes:
        neutral: its value when nothing was found; also fixes the type.
        read: takes the value from the findings.
    """

    neutral: SignalValue
    meaning: str
    read: Callable[[Findings], SignalValue]


def collect_signals(findings: Findings, names: Iterable[str]) -> dict[str, SignalValue]:
    """Return the values of the named signals; only these are computed."""
    values, readers = _sort_names(tuple(names))
    values = values.copy()
    for finding in findings.spam.findings:
        if finding.signal in values:
            values[finding.signal] = True
    for name, read in readers:
        values[name] = read(findings)
    return values


@lru_cache(maxsize=64)
def _sort_names(
    names: tuple[str, ...],
) -> tuple[dict[str, SignalValue], list[tuple[str, Callable[[Findings], SignalValue]]]]:
    """Return phrases that nothing was found of yet, and how to read the other signals."""
    phrases: dict[str, SignalValue] = {name: False for name in names if name in _PHRASE_NAMES}
    return phrases, [(name, SIGNALS[name].read) for name in names if name not in _PHRASE_NAMES]


def collect_evidence(findings: Findings, names: Collection[str]) -> tuple[str, ...]:
    """Return the pieces of the text behind the named signals, each once, at most EVIDENCE_MAX."""
    pieces: dict[str, None] = {}
    for name in names:
        if name in _PHRASE_NAMES:
            found: Iterable[str] = (part.evidence for part in findings.spam.findings if part.signal == name)
        else:
            found = _EVIDENCE[name](findings) if name in _EVIDENCE else (_show(name, findings),)
        for piece in found:
            pieces[piece[:EVIDENCE_CHARS_MAX]] = None
    return tuple(pieces)[:EVIDENCE_MAX]


def _show(name: str, findings: Findings) -> str:
    value = SIGNALS[name].read(findings)
    return f"{name} {value:.2f}" if isinstance(value, float) else f"{name} {value}"


def _count_untrusted(findings: Findings) -> int:
    return sum(not is_on_host(link, findings.trusted_hosts) for link in findings.contacts.links)


def _untrusted(findings: Findings) -> list[str]:
    return [link.url for link in findings.contacts.links if not is_on_host(link, findings.trusted_hosts)]


def _hits(findings: Findings, category: str = "") -> list[str]:
    return [hit.found for hit in findings.profanity.hits if not category or hit.category == category]


_PHRASE_NAMES: Set[str] = frozenset(phrase.signal for phrase in PHRASES)

_EVIDENCE: dict[str, Callable[[Findings], Iterable[str]]] = {
    "link_count": lambda f: [link.url for link in f.contacts.links],
    "untrusted_link_count": _untrusted,
    "broken_link_count": lambda f: [link.url for link in f.contacts.links if link.obfuscated],
    "referral_count": lambda f: [link.url for link in f.contacts.links if is_referral(link)],
    "phone_count": lambda f: f.contacts.phones,
    "mail_count": lambda f: f.contacts.mails,
    "handle_count": lambda f: f.contacts.handles,
    "wallet_count": lambda f: f.contacts.wallets,
    "profanity_severity": _hits,
    "profanity_count": _hits,
    "insult_count": lambda f: _hits(f, "insult"),
    "slur_count": lambda f: _hits(f, "slur"),
    "threat_count": lambda f: _hits(f, "threat"),
    "language": lambda f: [f.language.code],
}

SIGNALS: MappingProxyType[str, Signal] = MappingProxyType(
    {
        "kind": Signal("post", "kind of the item: post, comment, ...", lambda f: f.kind),
        "image_count": Signal(0, "pictures that come with the text", lambda f: f.image_count),
        "length": Signal(0, "characters of the clean text", lambda f: f.quality.length),
        "word_count": Signal(0, "words", lambda f: f.quality.word_count),
        "prose_word_count": Signal(0, "words that belong to no link", lambda f: f.contacts.word_count),
        "letter_share": Signal(0.0, "letters among visible characters", lambda f: f.quality.letter_share),
        "digit_share": Signal(0.0, "digits among visible characters", lambda f: f.quality.digit_share),
        "symbol_share": Signal(0.0, "signs and emoji among visible characters", lambda f: f.quality.symbol_share),
        "caps_share": Signal(0.0, "capitals among letters", lambda f: f.quality.caps_share),
        "distinct_share": Signal(0.0, "different words among words", lambda f: f.quality.distinct_share),
        "run_length": Signal(0, "longest run of one character, 0 below four", lambda f: f.quality.run_length),
        "entropy": Signal(0.0, "bits per character; prose has about 4.2", lambda f: f.quality.entropy),
        "repeated_share": Signal(0.0, "word pairs that occurred before", lambda f: f.spam.repeated_share),
        "is_truncated": Signal(False, "longer than what is analysed", lambda f: f.normalised.truncated),
        "hidden_count": Signal(0, "invisible characters inside words", lambda f: f.normalised.hidden_count),
        "lookalike_count": Signal(0, "words of mixed alphabets", lambda f: f.normalised.lookalike_count),
        "link_count": Signal(0, "links", lambda f: len(f.contacts.links)),
        "untrusted_link_count": Signal(0, "links to sites that are not trusted", _count_untrusted),
        "broken_link_count": Signal(
            0, "links written so that filters miss them", lambda f: sum(link.obfuscated for link in f.contacts.links)
        ),
        "referral_count": Signal(
            0, "links that pay whoever posts them", lambda f: sum(map(is_referral, f.contacts.links))
        ),
        "phone_count": Signal(0, "phone numbers", lambda f: len(f.contacts.phones)),
        "mail_count": Signal(0, "mail addresses", lambda f: len(f.contacts.mails)),
        "handle_count": Signal(0, "account names", lambda f: len(f.contacts.handles)),
        "wallet_count": Signal(0, "addresses of crypto wallets", lambda f: len(f.contacts.wallets)),
        "language": Signal(UNDETERMINED, "ISO 639 code, or und", lambda f: f.language.code),
        "language_score": Signal(0.0, "probability of the language", lambda f: f.language.score),
        "language_reliable": Signal(False, "enough text to tell the language", lambda f: f.language.reliable),
        "profanity_severity": Signal(0, "worst word: 1 mild, 2 strong, 3 hateful", lambda f: f.profanity.severity),
        "profanity_count": Signal(0, "words that swear or hurt", lambda f: f.profanity.count),
        "profanity_share": Signal(0.0, "such words among words", lambda f: f.profanity.share),
        "insult_count": Signal(0, "insults", lambda f: f.profanity.insult_count),
        "slur_count": Signal(0, "slurs", lambda f: f.profanity.slur_count),
        "threat_count": Signal(0, "threats and death wishes", lambda f: f.profanity.threat_count),
        "disguised_count": Signal(0, "listed words in disguise", lambda f: f.profanity.disguised_count),
        "second_person": Signal(False, "a text with listed words says 'you'", lambda f: f.profanity.second_person),
        "tone": Signal(0.0, "-1.0 hostile to 1.0 friendly, rated only beside listed words", lambda f: f.tone),
        "has_head": Signal(False, "a trained spam head is in use", lambda f: f.head_score is not None),
        "head_score": Signal(0.0, "spam score of the trained head", lambda f: f.head_score or 0.0),
        **{
            phrase.signal: Signal(False, phrase.meaning, lambda f, name=phrase.signal: _has(f, name))  # type: ignore[misc]
            for phrase in PHRASES
        },
    }
)

HEAD_SIGNALS: tuple[str, ...] = (
    *(phrase.signal for phrase in PHRASES),
    *("untrusted_link_count", "broken_link_count", "referral_count", "handle_count", "phone_count", "mail_count"),
    *("wallet_count", "caps_share", "symbol_share", "repeated_share", "second_person"),
)
"""What a trained head sees of the signals, in this order; a change makes every trained head stale."""


def _has(findings: Findings, name: str) -> bool:
    return any(finding.signal == name for finding in findings.spam.findings)
