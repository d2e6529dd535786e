"""Training the spam head of the flow `screen` on labelled texts, with the features that its tasks will see."""

from __future__ import annotations

from collections.abc import Sequence

from gristmill.flows.screen.files import load_rules
from gristmill.operators.text import (
    Findings,
    find_contacts,
    find_profanity,
    find_spam_signals,
    load_lexicon,
    measure_quality,
    normalise,
)
from gristmill.operators.text.head import HeadFeatures, SpamHead, extract_features, train_head
from gristmill.ports.models import Embedder

__all__ = ["read_features", "train_on"]


def train_on(texts: Sequence[str], labels: Sequence[bool], embedder: Embedder, *, rules: str = "") -> SpamHead:
    """Return a head trained on texts and whether each is spam; `head.dump()` is what `build_plan(head=)` reads.

    Args:
        rules: path of the rule file that the head will work beside; its trusted hosts are part of the features.
    Raises:
        UsageError: fewer than two texts of a class, or other numbers of texts and labels.
    """
    return train_head([read_features(text, embedder, rules=rules) for text in texts], labels)


def read_features(raw: str, embedder: Embedder, *, rules: str = "") -> HeadFeatures:
    """Return the features of one text as the plan's tasks compute them."""
    text = normalise(raw)
    contacts = find_contacts(text.text)
    words = text if contacts.outside is None else normalise(contacts.outside)
    findings = Findings(
        text,
        contacts=contacts,
        profanity=find_profanity(words, load_lexicon()),
        quality=measure_quality(text),
        spam=find_spam_signals(words),
        trusted_hosts=load_rules(rules).trusted_hosts,
    )
    vector = embedder.embed([words.text])[0]
    return extract_features(findings, words, vector, vector_revision=embedder.revision)
