"""Tasks that read a text: each hands one finding of `operators.text` to the next."""

from __future__ import annotations

from gristmill.adapters.local_models import LiteLanguage, VaderTone
from gristmill.domain.item import Item
from gristmill.flows.screen.results import Prose, Tone
from gristmill.operators.text import (
    Contacts,
    Language,
    Normalised,
    Profanity,
    Quality,
    SpamSignals,
    detect_language,
    find_contacts,
    find_profanity,
    find_spam_signals,
    load_lexicon,
    measure_quality,
    normalise,
)
from gristmill.plans.operator import task

__all__ = ["contacts", "language", "normalised", "profanity", "prose", "quality", "spam_signals", "tone"]

# Both load their model with the first text.
_LANGUAGE = LiteLanguage()
_TONE = VaderTone()


@task
def normalised(item: Item) -> Normalised:
    """Bring the text into its canonical forms."""
    return normalise(item.text)


@task
def contacts(text: Normalised) -> Contacts:
    """Find links, phone numbers, mail addresses, handles and wallets."""
    return find_contacts(text.text)


@task
def prose(text: Normalised, found: Contacts) -> Prose:
    """Take the text without its links and mail addresses."""
    return Prose(text if found.outside is None else normalise(found.outside))


@task(revision=LiteLanguage.revision, attempts=1, on_error="fail_open")
def language(text: Normalised) -> Language:
    """Tell the language; without the model the item goes on without one."""
    return detect_language(text, _LANGUAGE)


@task
def profanity(words: Prose) -> Profanity:
    """Find words that swear, insult, hate or threaten."""
    return find_profanity(words.normalised, load_lexicon())


@task(revision=VaderTone.revision, attempts=1, on_error="fail_open")
def tone(text: Normalised, found: Profanity) -> Tone:
    """Rate the tone, where there are words that could be hostile or fond; rating every text would double the cost."""
    return Tone(_TONE(text.text) if found.count else 0.0)


@task
def quality(text: Normalised) -> Quality:
    """Measure the form."""
    return measure_quality(text)


@task
def spam_signals(words: Prose) -> SpamSignals:
    """Find phrases of advertising, begging and self-promotion."""
    return find_spam_signals(words.normalised)
