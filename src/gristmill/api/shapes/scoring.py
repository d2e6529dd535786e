"""What is scored, and what came of it."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from gristmill.api.shapes.publishing import NewItem
from gristmill.api.views.labels import LabelView
from gristmill.api.views.runs import TaskView
from gristmill.domain.run import RunStatus

__all__ = ["ScoreBody", "ScoreRequest", "ScoreView"]

TIMEOUT_MS_MAX = 60_000


class ScoreRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to score, by which plan.

    With `store` the item is published too: it gets an id, and what it shares with others is then looked at as well.
    """

    item: msgspec.Raw
    plan: Annotated[str, Meta(max_length=128, description="plan key; that of published items by default")] = ""
    source: Annotated[str, Meta(max_length=256, description="a Source that maps it; our own shape by default")] = ""
    timeout_ms: Annotated[int, Meta(ge=1, le=TIMEOUT_MS_MAX)] = 5_000
    store: bool = False


class ScoreView(msgspec.Struct, frozen=True, kw_only=True):
    """What the plan came to. `item_id` is set where the item was stored."""

    plan: str
    plan_version: int
    status: RunStatus
    reason: str
    error: str
    labels: tuple[LabelView, ...]
    fields: dict[str, Any]
    tasks: tuple[TaskView, ...]
    duration_us: int
    item_id: str | None = None


class ScoreBody(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """As `ScoreRequest`, with the item in our own shape."""

    item: NewItem
    plan: str = ""
    source: str = ""
    timeout_ms: Annotated[int, Meta(ge=1, le=TIMEOUT_MS_MAX)] = 5_000
    store: bool = False
