"""Several plans on one record come to one answer."""

from __future__ import annotations

from gristmill.engine.core.merge import Merged, PlanEnding, merge_plans


def test_no_plan_is_a_success_without_duration() -> None:
    assert merge_plans([], now_ms=5) == Merged(is_success=True, started_at_ms=5, ended_at_ms=5)


def test_one_failed_plan_fails_the_record_with_its_text_alone() -> None:
    merged = merge_plans(
        [
            PlanEnding(plan="p1", status="rejected", started_at_ms=3, ended_at_ms=9),
            PlanEnding(
                plan="p2",
                status="failed",
                started_at_ms=2,
                ended_at_ms=4,
                error="ValueError: x",
                error_class="ValueError",
                failed_task="t",
            ),
        ],
        now_ms=10,
    )
    assert (merged.is_success, merged.started_at_ms, merged.ended_at_ms) == (False, 2, 9)
    assert (merged.error, merged.error_class, merged.failed_task) == ("ValueError: x", "ValueError", "t")
    assert merged.failed_plans == ("p2",)
