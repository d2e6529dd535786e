"""What the tasks that look at pictures hand on."""

from __future__ import annotations

from typing import Literal

import msgspec

from gristmill.domain.contribution import Join
from gristmill.domain.item import Label
from gristmill.plans.results import cell, transient
from gristmill.ports.media import Picture

__all__ = [
    "ImageFact",
    "ImageFacts",
    "ImageReferences",
    "LookedAt",
    "MissingImage",
    "Nudity",
    "NudityScore",
    "Pictures",
    "SimilarPictures",
]


class MissingImage(msgspec.Struct, frozen=True):
    """A picture that could not be looked at, and why; `reason` is one of `ports.media.MissingReason`."""

    reference: str
    reason: str
    detail: str = ""


class LookedAt(msgspec.Struct, frozen=True):
    """A picture with what tells it from others.

    Attributes:
        reference: as the item gave it.
        url: where it came from in the end; empty for an inline one.
        phash: 64 hex digits; `is_distinct` is False where the picture is too plain for it to mean anything.
    """

    reference: str
    url: str
    sha256: str
    phash: str
    is_distinct: bool
    body_bytes: int
    picture: Picture


class ImageFact(msgspec.Struct, frozen=True):
    """What is stored about one picture."""

    reference: str
    media_type: str
    width: int
    height: int
    frames: int
    body_bytes: int
    sha256: str
    phash: str


class NudityScore(msgspec.Struct, frozen=True):
    """0.0 (safe) to 1.0 (explicit), and in words."""

    reference: str
    score: float
    bucket: Literal["safe", "unsure", "explicit"]


@transient
class ImageReferences(msgspec.Struct, frozen=True):
    """What refers to pictures; `left_out` are those above the number that is looked at."""

    references: tuple[str, ...]
    left_out: tuple[str, ...] = ()


@transient
class Pictures(msgspec.Struct, frozen=True):
    """Every picture of the item, either looked at or missing."""

    seen: tuple[LookedAt, ...]
    missing: tuple[MissingImage, ...] = ()


@cell("images")
class ImageFacts(msgspec.Struct, frozen=True):
    """Facts about the item's pictures, lists that know them, and what they share with other items'."""

    images: tuple[ImageFact, ...]
    missing_media: tuple[MissingImage, ...] = ()
    labels: tuple[Label, ...] = ()
    contributions: tuple[Join, ...] = ()


@cell("nudity")
class Nudity(msgspec.Struct, frozen=True):
    """Scores of the pictures by one revision of a classifier."""

    scores: tuple[NudityScore, ...]
    revision: str
    labels: tuple[Label, ...] = ()


@transient
class SimilarPictures(msgspec.Struct, frozen=True):
    """Keys by which pictures that a model finds alike form groups."""

    contributions: tuple[Join, ...] = ()
