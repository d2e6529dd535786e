"""Generators one by one, and how they are steered, as the API shows and takes it."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from gristmill.api.shapes.plans import GeneratorView
from gristmill.engine.dispatch.steering import REASON_CHARS_MAX

__all__ = [
    "GeneratorDetailView",
    "PartitionView",
    "PauseRequest",
    "SeekRequest",
    "SoughtView",
    "SteeredView",
    "WeighRequest",
]


class PartitionView(msgspec.Struct, frozen=True, kw_only=True):
    """How far the group is in one partition of a topic.

    `open` counts what was handed out and is not done with, where this process knows; `ours` whether it holds the
    partition, where a log shares partitions out.
    """

    topic: str
    partition: int
    position: str
    end: str
    undelivered: int
    open: int | None
    ours: bool | None


class SoughtView(msgspec.Struct, frozen=True, kw_only=True):
    """What a seek did, or with `preview` would do: records that come again, that are skipped, that are under way."""

    again: int
    skipped: int
    in_flight: int
    preview: bool


class SteeredView(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that somebody did. `action` is `ordered` or `sought`; the other fields are those of that one."""

    at: str
    actor: str
    action: str
    paused: bool
    reason: str
    weight: float | None
    topic: str
    to: str
    again: int
    skipped: int


class GeneratorDetailView(msgspec.Struct, frozen=True, kw_only=True):
    """A generator with its partitions, and what was done to it, the newest first."""

    generator: GeneratorView
    partitions: list[PartitionView]
    steered: list[SteeredView]


class PauseRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why the generator is to be paused."""

    reason: Annotated[str, Meta(min_length=1, max_length=REASON_CHARS_MAX, description="shown wherever it waits")]


class WeighRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A share of draws; null for the one that the generator was declared with."""

    weight: Annotated[float, Meta(gt=0, le=1e9)] | None


class SeekRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the group is to go on. Unless `preview` is false it is only counted what that would do.

    With `expected` it is done only while so many records would come again or be skipped.
    """

    to: Annotated[
        str,
        Meta(min_length=1, max_length=64, description="`earliest`, `now`, an offset, or a time in RFC 3339"),
    ]
    topic: Annotated[str, Meta(max_length=256, description="of the two that it reads; its own when empty")] = ""
    preview: bool = True
    expected: Annotated[int, Meta(ge=0)] | None = None
