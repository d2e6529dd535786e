"""What the tasks of the flow `screen` hand on, beside the findings of `operators.text`."""

from __future__ import annotations

import msgspec

from gristmill.domain.contribution import Count, Join
from gristmill.domain.item import Label
from gristmill.operators.rules import RuleFailure, Scored
from gristmill.operators.text import Contacts, Language, Normalised, Profanity, Quality
from gristmill.plans.results import cell, transient

__all__ = ["Embedding", "Gathered", "HeadScore", "Prose", "Screened", "SharedKeys", "Tone"]


@transient
class Prose(msgspec.Struct, frozen=True):
    """The text without its links and mail addresses, whose words say nothing about its author's."""

    normalised: Normalised


@transient
class Tone(msgspec.Struct, frozen=True):
    """-1.0 (hostile) to 1.0 (friendly); 0.0 where it was not rated."""

    score: float


@transient
class Embedding(msgspec.Struct, frozen=True):
    """A unit vector as little-endian float32, and the revision of the embedder that gave it."""

    vector: bytes
    revision: str


@transient
class Gathered(msgspec.Struct, frozen=True):
    """What was read from the text, side by side, for the tasks that decide."""

    text: Normalised
    contacts: Contacts
    language: Language
    profanity: Profanity
    quality: Quality


@transient
class HeadScore(msgspec.Struct, frozen=True):
    """The probability of spam by a trained head, and the head's revision."""

    score: float
    revision: str


@transient
class SharedKeys(msgspec.Struct, frozen=True):
    """What the item shares with others; the commit resolves it into labels."""

    contributions: tuple[Join | Count, ...] = ()


@cell("screen")
class Screened(msgspec.Struct, frozen=True):
    """The verdict of the rules.

    Attributes:
        scores: of every label that a rule spoke for, given or not.
        failures: rules that failed on this text; empty in a sound file.
        rules, head: revisions of what decided; `head` is empty without one.
    """

    labels: tuple[Label, ...]
    scores: tuple[Scored, ...]
    failures: tuple[RuleFailure, ...]
    rules: str
    head: str = ""
