"""The plan of the flow `screen`, and variants of it with other rules, a trained head or without pictures."""

from __future__ import annotations

from typing import Literal

import msgspec

from gristmill.flows.screen.deciding import embedding, gathered, head_score, screening, shared_keys
from gristmill.flows.screen.files import load_head_file, load_match_lists, load_rules
from gristmill.flows.screen.images import (
    NSFW_SCORE_MIN,
    image_facts,
    image_references,
    nudity,
    pictures,
    similar_pictures,
)
from gristmill.flows.screen.reading import contacts, language, normalised, profanity, prose, quality, spam_signals, tone
from gristmill.flows.screen.results import HeadScore
from gristmill.plans.operator import Operator
from gristmill.plans.placement import Placement
from gristmill.plans.plan import Plan

__all__ = ["ImageOptions", "build_plan"]


class ImageOptions(msgspec.Struct, frozen=True):
    """How pictures are screened.

    Attributes:
        on_missing: what an item comes to whose picture cannot be fetched just now: `fail` (and be tried again later) or
            `degrade` (go on without it, recorded and labelled `unscreened`).
        nsfw_score: least score of the nudity classifier for the label `nsfw`.
        lists: paths of match lists (see `operators.media.match_list`).
    """

    on_missing: Literal["fail", "degrade"] = "fail"
    nsfw_score: float = NSFW_SCORE_MIN
    lists: tuple[str, ...] = ()


_SHIPPED_IMAGES = ImageOptions()


def build_plan(
    key: str = "screen",
    *,
    version: int = 2,
    rules: str = "",
    head: str = "",
    images: ImageOptions | None = _SHIPPED_IMAGES,
) -> Plan:
    """Return a plan that screens text and pictures.

    Args:
        key: the plan key; another than `screen` for a plan beside the shipped one.
        rules: path of a rule file; empty for the shipped one.
        head: path of a trained head (see `operators.text.head`); empty to let the rules decide spam alone.
        images: how to screen pictures; None to leave them alone.
    Raises:
        ConfigError: the rule file is wrong (see `operators.rules.read_rules`), or a file cannot be read.
        DataError: the head file holds no head, or one of other features.
    """
    # A user's files are read here, so that a mistake in them keeps the plan from starting.
    if rules:
        load_rules(rules)
    if head:
        load_head_file(head)
    read = [normalised, language, contacts, prose, profanity, tone, quality, spam_signals, gathered]
    decided = [shared_keys.use(rules=rules)]
    if head:
        decided += [embedding.use(), head_score.use(head=head, rules=rules), screening.use(rules=rules)]
    else:
        decided.append(screening.use(rules=rules, absent=[HeadScore]))
    return Plan(key, version=version, tasks=[*read, *decided, *(_place_images(images) if images is not None else ())])


def _place_images(images: ImageOptions) -> list[Placement | Operator]:
    if images.lists:
        load_match_lists(images.lists)
    return [
        # Last, so that a text without pictures has everything behind it when these tasks are skipped.
        image_references.use(after_any=[shared_keys, screening]),
        pictures.use(on_missing=images.on_missing),
        image_facts.use(lists=images.lists),
        nudity.use(nsfw_score=images.nsfw_score),
        similar_pictures,
    ]
