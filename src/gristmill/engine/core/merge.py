"""What the Runs of one record come to together: it is a success when every plan is."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from gristmill.domain.run import RunStatus

__all__ = ["Merged", "PlanEnding", "merge_plans"]


class PlanEnding(msgspec.Struct, frozen=True, kw_only=True):
    """How the Run of one plan ended, as far as its record is concerned."""

    plan: str
    status: RunStatus
    started_at_ms: int
    ended_at_ms: int
    error: str = ""
    error_class: str = ""
    failed_task: str = ""


class Merged(msgspec.Struct, frozen=True, kw_only=True):
    """The Runs of one record together.

    Attributes:
        started_at_ms, ended_at_ms: earliest start and latest end; equal when no plan matched.
        error: texts of the failed plans alone, in their order.
        error_class, failed_task: of the first failed plan.
        failed_plans: what a retry has to repeat.
    """

    is_success: bool
    started_at_ms: int
    ended_at_ms: int
    error: str = ""
    error_class: str = ""
    failed_task: str = ""
    failed_plans: tuple[str, ...] = ()


def merge_plans(endings: Sequence[PlanEnding], *, now_ms: int) -> Merged:
    """Return the endings of all plans of one record as one; no plan at all is a success without duration."""
    failed = [ending for ending in endings if ending.status == "failed"]
    return Merged(
        is_success=not failed,
        started_at_ms=min((ending.started_at_ms for ending in endings), default=now_ms),
        ended_at_ms=max((ending.ended_at_ms for ending in endings), default=now_ms),
        error="; ".join(ending.error for ending in failed),
        error_class=failed[0].error_class if failed else "",
        failed_task=failed[0].failed_task if failed else "",
        failed_plans=tuple(ending.plan for ending in failed),
    )
