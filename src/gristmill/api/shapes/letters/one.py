"""Dead letters as the API shows them, and how they are asked for."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from gristmill.api.problems import Fault
from gristmill.api.shapes.scoring import TIMEOUT_MS_MAX, ScoreView
from gristmill.domain.upkeep.closing import ClosingKind

__all__ = [
    "DoneView",
    "ReasonQuery",
    "EditLetterRequest",
    "FailureView",
    "LetterQuery",
    "LetterView",
    "LettersView",
    "TrialView",
    "TryLetterRequest",
]

PAGE_MAX = 200
REASON_CHARS_MAX = 500


class ReasonQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Why a record is brought back or dropped."""

    reason: Annotated[str, Meta(max_length=REASON_CHARS_MAX, description="kept with the token's name")] = ""


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
    status: ClosingKind


class EditLetterRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What goes back instead of the payload that failed, and why."""

    payload: Annotated[str, Meta(min_length=1, description="the whole record, as text")]
    reason: Annotated[str, Meta(max_length=REASON_CHARS_MAX, description="kept with the token's name")] = ""


class TryLetterRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to try; the payload that failed where none is given."""

    payload: Annotated[str, Meta(description="the whole record, as text")] | None = None
    timeout_ms: Annotated[int, Meta(ge=1, le=TIMEOUT_MS_MAX)] = 5_000


class TrialView(msgspec.Struct, frozen=True, kw_only=True):
    """What would become of a record; nothing was written.

    `faults` tell why it is no item, `left_out` why its Source leaves it alone; no plan was run then. `unknown_plans`
    had not ended, and this installation does not have them.
    """

    dead_letter_id: str
    faults: list[Fault]
    left_out: str
    runs: list[ScoreView]
    unknown_plans: tuple[str, ...]
