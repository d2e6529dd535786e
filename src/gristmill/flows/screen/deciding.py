"""Tasks that decide: what the item shares with others, and what the rules say about it."""

from __future__ import annotations

from typing import Annotated

import msgspec
import numpy as np

from gristmill.domain.contribution import Count, Join
from gristmill.domain.item import Item
from gristmill.flows.screen.files import load_head_file, load_rules
from gristmill.flows.screen.results import Embedding, Gathered, HeadScore, Prose, Screened, SharedKeys, Tone
from gristmill.operators.media import find_references
from gristmill.operators.rules import decide
from gristmill.operators.text import (
    Contacts,
    Findings,
    Language,
    Normalised,
    Profanity,
    Quality,
    SpamSignals,
    collect_evidence,
    collect_signals,
    compute_keys,
)
from gristmill.operators.text.head import extract_features
from gristmill.operators.text.language import UNDETERMINED
from gristmill.operators.text.links import is_on_host, link_key
from gristmill.plans.operator import task
from gristmill.plans.resources import Role, RunScope
from gristmill.ports.models import Embedder

__all__ = ["embedding", "gathered", "head_score", "screening", "shared_keys"]

LINK_SIGHTINGS = 5
"""Posts of one link within the window that make it a campaign; friends share a link two or three times."""

TEXT_SIGHTINGS = 10
"""Posts of one text within the window; songs and jokes are quoted, but not ten times in an hour."""

WINDOW_MS = 3_600_000
"""One hour."""

TEXT_WORDS_MIN = 4
"""Shorter texts ("nice song") are said by many people on their own."""


@task
def shared_keys(
    item: Item, text: Normalised, found: Contacts, scope: RunScope, *, rules: str = "", window_ms: int = WINDOW_MS
) -> SharedKeys:
    """Say what the item shares with others: its exact text, near keys, and links that may be campaigns.

    Equal words under pictures make no duplicate; see `images.image_facts` for both together.
    """
    keys = compute_keys(text, found)
    shared: list[Join | Count] = []
    if keys.exact and not find_references(item):
        shared.append(Join("exact", (keys.exact,), "duplicate", "same text as {leader}"))
    if keys.near:
        shared.append(
            Join("near", keys.near, "near-duplicate", "nearly the same text as {leader}", 0.9, unless="duplicate")
        )
    at_ms = scope.arrived_at_ms if item.created_at_ms is None else item.created_at_ms
    trusted = load_rules(rules).trusted_hosts
    untrusted = {link_key(link) for link in found.links if not is_on_host(link, trusted)}
    shared += [
        Count("link", key, at_ms, window_ms, LINK_SIGHTINGS, "spam", "posted {count} times: {key}", unless="spam")
        for key in keys.links
        if key in untrusted
    ]
    if keys.exact and not found.links and len(text.words.split(" ", TEXT_WORDS_MIN)) >= TEXT_WORDS_MIN:
        reason = "the same text {count} times"
        shared.append(
            Count("text", keys.exact, at_ms, window_ms, TEXT_SIGHTINGS, "spam", reason, score=0.7, unless="spam")
        )
    return SharedKeys(tuple(shared))


@task
def gathered(
    text: Normalised, contacts: Contacts, language: Language | None, profanity: Profanity, quality: Quality
) -> Gathered:
    """Lay what was read side by side."""
    return Gathered(text, contacts, language or Language(UNDETERMINED, 0.0, False), profanity, quality)


@task
def embedding(words: Prose, embedder: Annotated[Embedder, Role("text")]) -> Embedding:
    """Turn the text into a vector."""
    return Embedding(embedder.embed([words.normalised.text])[0].tobytes(), embedder.revision)


@task
def head_score(
    words: Prose, read: Gathered, spam: SpamSignals, vector: Embedding, *, head: str, rules: str = ""
) -> HeadScore:
    """Score the text with a trained head."""
    trained = load_head_file(head)
    findings = _lay_out(read, spam, rules)
    values = np.frombuffer(vector.vector, "<f4")
    features = extract_features(findings, words.normalised, values, vector_revision=vector.revision)
    return HeadScore(trained.score(features), trained.revision)


@task
def screening(
    item: Item, read: Gathered, spam: SpamSignals, tone: Tone | None, scored: HeadScore | None, *, rules: str = ""
) -> Screened:
    """Let the rules decide on labels; the score of a trained head is one of their signals."""
    ruleset = load_rules(rules)
    findings = Findings(
        read.text,
        contacts=read.contacts,
        language=read.language,
        profanity=read.profanity,
        quality=read.quality,
        spam=spam,
        trusted_hosts=ruleset.trusted_hosts,
        kind=item.kind,
        tone=tone.score if tone is not None else 0.0,
        image_count=len(find_references(item)),
        head_score=scored.score if scored is not None else None,
    )
    verdict = decide(ruleset, collect_signals(findings, ruleset.names), lambda names: collect_evidence(findings, names))
    head = scored.revision if scored is not None else ""
    revision = f"{verdict.revision}+{head}" if head else verdict.revision
    labels = tuple(msgspec.structs.replace(label, revision=revision) for label in verdict.labels)
    return Screened(labels, verdict.scores, verdict.failures, verdict.revision, head)


def _lay_out(read: Gathered, spam: SpamSignals, rules: str) -> Findings:
    return Findings(
        read.text,
        contacts=read.contacts,
        language=read.language,
        profanity=read.profanity,
        quality=read.quality,
        spam=spam,
        trusted_hosts=load_rules(rules).trusted_hosts,
    )
