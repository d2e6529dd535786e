"""Tasks that look at pictures. An item without any is through after the first of them, which costs a microsecond.

image_references -> pictures -> image_facts        facts, match lists, near copies by perceptual hash
                             -> nudity             label `nsfw`
                             -> similar_pictures   near copies by embedding: mirrored, turned, cropped
"""

from __future__ import annotations

import asyncio
import hashlib
from typing import Annotated, Literal

from gristmill.domain.contribution import KEYS_PER_JOIN_MAX, Join
from gristmill.domain.errors import Unavailable
from gristmill.domain.item import Item, Label
from gristmill.domain.outcome import Skip
from gristmill.flows.screen.files import load_match_lists
from gristmill.flows.screen.image_results import (
    ImageFact,
    ImageFacts,
    ImageReferences,
    LookedAt,
    MissingImage,
    Nudity,
    NudityScore,
    Pictures,
    SimilarPictures,
)
from gristmill.operators.media import (
    ListHit,
    PerceptualHash,
    compute_hash,
    compute_hash_keys,
    compute_vector_keys,
    find_references,
    show_reference,
)
from gristmill.operators.text import Normalised
from gristmill.operators.text.duplicates import compute_exact_key
from gristmill.plans.operator import task
from gristmill.plans.resources import Role
from gristmill.ports.media import (
    ImageClassifier,
    ImageEmbedder,
    ImageReader,
    MediaFetcher,
    Missing,
)

__all__ = ["IMAGES_MAX", "NSFW_SCORE_MIN", "image_facts", "image_references", "nudity", "pictures", "similar_pictures"]

IMAGES_MAX = 9
"""Pictures of one item that are looked at; further ones are recorded as missing."""

HASHED_INLINE_BYTES_MAX = 1_000_000
"""Larger bodies are hashed in a thread: the loop must not stand still for longer than about a millisecond."""

NSFW_SCORE_MIN = 0.8
SAFE_SCORE_MAX = 0.2
"""Below it open_nsfw's authors call a picture safe, from 0.8 on not safe, and advise a look in between."""

REASONS_MAX = 3
OnMissing = Literal["fail", "degrade"]


@task
def image_references(item: Item, *, images_max: int = IMAGES_MAX) -> ImageReferences | Skip:
    """Find what refers to pictures."""
    found = find_references(item)
    if not found:
        return Skip("no pictures")
    return ImageReferences(found[:images_max], found[images_max:])


@task(safety=True, on_error="fail", attempts=1, timeout_ms=300_000)
async def pictures(
    wanted: ImageReferences,
    fetcher: Annotated[MediaFetcher, Role("images")],
    reader: Annotated[ImageReader, Role("images")],
    *,
    on_missing: OnMissing = "fail",
) -> Pictures:
    """Fetch and decode the pictures. What is absent or not fit to be decoded is recorded and does not stop the item.

    Args:
        on_missing: what to do when a server cannot be reached or fails: `fail` the item, to be tried again later, or
            record it like the others and go on (`degrade`).
    Raises:
        Unavailable: that is so, and it is to fail.
    """
    looks = await asyncio.gather(*(_look(reference, fetcher, reader) for reference in wanted.references))
    missing = [one for one in looks if isinstance(one, MissingImage)]
    unavailable = next((one for one in missing if one.reason == "unavailable"), None)
    if unavailable is not None and on_missing == "fail":
        advice = f"{unavailable.detail}; to go on without such pictures set media.on_error = 'degrade'"
        raise Unavailable("cannot fetch picture", value=unavailable.reference, advice=advice)
    missing += [MissingImage(show_reference(one), "too_many") for one in wanted.left_out]
    return Pictures(tuple(one for one in looks if isinstance(one, LookedAt)), tuple(missing))


@task
def image_facts(
    wanted: ImageReferences, found: Pictures, text: Normalised, *, lists: tuple[str, ...] = ()
) -> ImageFacts:
    """Record the facts, look the pictures up in match lists, and say what they share with others."""
    facts = tuple(
        ImageFact(
            show_reference(one.reference),
            one.picture.media_type,
            one.picture.width,
            one.picture.height,
            one.picture.frames,
            one.body_bytes,
            one.sha256,
            one.phash if one.is_distinct else "",
        )
        for one in found.seen
    )
    labels = (*_label_listed(wanted, found, lists), *_label_unscreened(found))
    return ImageFacts(facts, found.missing, labels, _share(found, text))


@task(safety=True, on_error="fail", runs="thread", timeout_ms=60_000)
def nudity(
    found: Pictures, classifier: Annotated[ImageClassifier, Role("nudity")], *, nsfw_score: float = NSFW_SCORE_MIN
) -> Nudity | Skip:
    """Score the pictures for nudity and label the item by the worst."""
    if not found.seen:
        return Skip("no picture could be looked at")
    values = classifier.classify([one.picture.pixels for one in found.seen])
    scores = tuple(
        NudityScore(show_reference(one.reference), round(value, 4), _bucket_of(value, nsfw_score))
        for one, value in zip(found.seen, values, strict=True)
    )
    worst = max(score.score for score in scores)
    over = [score for score in scores if score.score >= nsfw_score]
    evidence = tuple(f"{score.reference} ({score.score:.2f})" for score in over)
    labels = (Label("nsfw", worst, "a picture shows nudity", evidence, classifier.revision),) if over else ()
    return Nudity(scores, classifier.revision, labels)


@task(on_error="skip", runs="thread", timeout_ms=60_000)
def similar_pictures(found: Pictures, embedder: Annotated[ImageEmbedder, Role("copies")]) -> SimilarPictures | Skip:
    """Say by which keys pictures that look much alike find each other."""
    distinct = [one for one in found.seen if one.is_distinct]
    if not distinct:
        return Skip("no picture that can be told from others")
    vectors = embedder.embed([one.picture.pixels for one in distinct])
    keys = [compute_vector_keys(vector, revision=embedder.revision) for vector in vectors]
    joined = _take_whole(keys)
    if not joined:
        return SimilarPictures()
    reason = "a picture that looks much like one of {leader}"
    join = Join("picture-vector", joined, "similar-picture", reason, 0.7, unless="near-duplicate")
    return SimilarPictures((join,))


async def _look(reference: str, fetcher: MediaFetcher, reader: ImageReader) -> LookedAt | MissingImage:
    try:
        async with fetcher.open(reference) as fetched:
            if isinstance(fetched, Missing):
                return _missing(reference, fetched)
            body, url = fetched.body, fetched.url
            picture = await reader.read(body)
            if isinstance(picture, Missing):
                return _missing(reference, picture)
            if len(body) > HASHED_INLINE_BYTES_MAX:
                sha256 = await asyncio.to_thread(_hash, body)
            else:
                sha256 = _hash(body)
    except Unavailable as error:
        return MissingImage(show_reference(reference), "unavailable", str(error))
    hashed = compute_hash(picture.grey)
    return LookedAt(reference, url, sha256, hashed.hex, hashed.is_distinct, len(body), picture)


def _hash(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def _missing(reference: str, missing: Missing) -> MissingImage:
    return MissingImage(show_reference(reference), missing.reason, missing.detail)


def _bucket_of(score: float, nsfw_score: float) -> Literal["safe", "unsure", "explicit"]:
    if score >= nsfw_score:
        return "explicit"
    return "safe" if score < SAFE_SCORE_MAX else "unsure"


def _label_listed(wanted: ImageReferences, found: Pictures, lists: tuple[str, ...]) -> list[Label]:
    if not lists:
        return []
    known = load_match_lists(lists)
    places = [*wanted.references, *wanted.left_out, *(one.url for one in found.seen)]
    hits: list[tuple[str, ListHit]] = []
    for place in dict.fromkeys(place for place in places if place.startswith("http")):
        hits += [(show_reference(place), hit) for hit in known.match_place(place)]
    for one in found.seen:
        near = one.phash if one.is_distinct else ""
        hits += [(show_reference(one.reference), hit) for hit in known.match_picture(one.sha256, near)]
    return [_label_hits(val, hits) for val in dict.fromkeys(hit.label for _, hit in hits)]


def _label_hits(val: str, hits: list[tuple[str, ListHit]]) -> Label:
    mine = [(shown, hit) for shown, hit in hits if hit.label == val]
    reasons = list(dict.fromkeys(hit.reason for _, hit in mine))[:REASONS_MAX]
    evidence = dict.fromkeys(f"{shown} ({hit.what})" for shown, hit in mine)
    return Label(val, 1.0, "; ".join(reasons), tuple(evidence))


def _label_unscreened(found: Pictures) -> list[Label]:
    """Say aloud what was not judged: whoever relies on `nsfw` being absent must see it."""
    unseen = [one for one in found.missing if one.reason != "absent"]
    if not unseen:
        return []
    count = len(found.seen) + len(found.missing)
    reasons = list(dict.fromkeys(one.reason for one in unseen))[:REASONS_MAX]
    reason = f"{len(unseen)} of {count} pictures could not be looked at: {', '.join(reasons)}"
    evidence = tuple(f"{one.reference}: {one.detail or one.reason}" for one in unseen)
    return [Label("unscreened", 1.0, reason, evidence)]


def _share(found: Pictures, text: Normalised) -> tuple[Join, ...]:
    joins: list[Join] = []
    if found.seen and not found.missing:
        both = ":".join([compute_exact_key(text), *sorted(one.sha256 for one in found.seen)])
        key = f"i1:{hashlib.blake2b(both.encode(), digest_size=16).hexdigest()}"
        joins.append(Join("exact", (key,), "duplicate", "same text and pictures as {leader}"))
    near = _take_whole([(f"s1:{one.sha256}", *compute_hash_keys(_hash_of(one))) for one in found.seen])
    if near:
        reason = "nearly the same picture as in {leader}"
        joins.append(Join("picture", near, "near-duplicate", reason, 0.9, unless="duplicate"))
    return tuple(joins)


def _hash_of(one: LookedAt) -> PerceptualHash:
    return PerceptualHash(one.phash, one.is_distinct)


def _take_whole(keys: list[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the keys of the first pictures, as many whole pictures as one Join takes."""
    taken: dict[str, None] = {}
    for of_picture in keys:
        if len(taken) + len(of_picture) > KEYS_PER_JOIN_MAX:
            break
        taken.update(dict.fromkeys(of_picture))
    return tuple(taken)
