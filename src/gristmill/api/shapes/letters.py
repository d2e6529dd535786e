"""Dead letters and quarantine as the API shows them, and how they are asked for."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

__all__ = [
    "DoneView",
    "DropQuery",
    "FailureView",
    "LetterQuery",
    "LetterView",
    "LettersView",
    "QuarantinePageView",
    "QuarantineQuery",
    "QuarantineView",
]

PAGE_MAX = 200
REASON_CHARS_MAX = 500


class DropQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Why a record is dropped."""

    reason: Annotated[str, Meta(max_length=REASON_CHARS_MAX, description="goes to the log with the token's name")] = ""


class LetterQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which dead letters."""

    topic: Annotated[str, Meta(max_length=256)] = ""
    group: Annotated[str, Meta(max_length=256)] = ""
    cursor: Annotated[str, Meta(max_length=64, description="`next` of the page before")] = ""
    limit: Annotated[int, Meta(ge=1, le=PAGE_MAX)] = 50


class FailureView(msgspec.Struct, frozen=True):
    """One of the failures that led there."""

    at: str
    owner: str
    error: str


class LetterView(msgspec.Struct, frozen=True, kw_only=True):
    """A record that was given up. `value` is cut after 64 Ki characters."""

    dead_letter_id: str
    topic: str
    group: str
    offset: str
    attempt: int
    failed_at: str
    error_class: str
    error: str
    task: str
    plans: tuple[str, ...]
    history: tuple[FailureView, ...]
    headers: dict[str, str]
    value: str


class LettersView(msgspec.Struct, frozen=True):
    """A page, oldest first; go on with `next` until it is null."""

    dead_letters: list[LetterView]
    next: str | None


class DoneView(msgspec.Struct, frozen=True):
    """It is done."""

    dead_letter_id: str
    status: str


class QuarantineQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which entries."""

    generator: Annotated[str, Meta(max_length=256)] = ""
    cursor: Annotated[str, Meta(max_length=64, description="`next` of the page before")] = ""
    limit: Annotated[int, Meta(ge=1, le=PAGE_MAX)] = 50


class QuarantineView(msgspec.Struct, frozen=True, kw_only=True):
    """A record that never became an item, with all its faults. `raw` is cut after 64 Ki characters."""

    quarantine_id: str
    source: str
    source_revision: int
    generator: str
    position: str
    at: str
    reason: str
    violations: tuple[str, ...]
    raw: str


class QuarantinePageView(msgspec.Struct, frozen=True):
    """A page by position; go on with `next` until it is null."""

    quarantine: list[QuarantineView]
    next: str | None
