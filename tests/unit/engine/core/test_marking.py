"""Rules of the marking by name; the property test holds all of them together."""

from __future__ import annotations

from typing import Any

import pytest

from gristmill.domain.errors import InvariantBroken
from gristmill.engine.core.layout import Layout
from gristmill.engine.core.marking import Marking
from tests.graphs import build_graph, build_node


def marking_of(*edges: dict[str, Any]) -> Marking:
    return Marking(Layout(build_graph([build_node(index, **given) for index, given in enumerate(edges)])))


def test_a_node_is_asked_for_when_its_last_predecessor_has_ended() -> None:
    marking = marking_of({}, {}, {"requires": [0], "after": [1]})
    assert marking.start() == [0, 1]
    assert marking.on_done(1) == []
    assert marking.on_done(0) == [2]
    assert marking.on_done(2) == []
    assert marking.verdict().status == "done"


@pytest.mark.parametrize("kind", ["after", "requires", "prefers"])
def test_a_gate_skips_everything_placed_after_it_through_every_edge(kind: str) -> None:
    marking = marking_of({}, {"after": [0]}, {kind: [1]}, {"prefers": [2]})
    marking.start()
    assert marking.on_skip(0, "not for us") == []
    assert marking.states == ["skipped", "skipped_by_gate", "skipped_by_gate", "skipped_by_gate"]
    assert [marking.reason_of(index) for index in range(4)] == ["not for us"] + ["t0: not for us"] * 3
    verdict = marking.verdict()
    assert (verdict.status, verdict.reason) == ("skipped", "not for us")


def test_a_gate_does_not_reach_through_after_any() -> None:
    marking = marking_of({}, {"after": [0]}, {"after_any": [1]})
    marking.start()
    assert marking.on_skip(0, "no") == [2]


def test_an_optional_reader_runs_where_its_producer_skipped_itself_or_lacked_data() -> None:
    marking = marking_of({}, {"requires": [0]}, {"prefers": [0, 1]})
    marking.start()
    assert marking.on_skip(0, "no") == [2]
    assert marking.states[1] == "skipped"


def test_the_strongest_skip_counts_and_gives_the_reason() -> None:
    marking = marking_of({}, {}, {"requires": [0], "after": [1]}, {"prefers": [2]})
    marking.start()
    marking.on_skip(0, "weak")
    marking.on_skip(1, "strong")
    assert marking.states[2:] == ["skipped_by_gate", "skipped_by_gate"]
    assert marking.reason_of(2) == "t1: strong"


def test_a_task_that_fails_open_lets_go_on_what_is_after_it_but_not_what_needs_its_result() -> None:
    marking = marking_of({"on_error": "fail_open"}, {"after": [0]}, {"prefers": [0]}, {"requires": [0]})
    marking.start()
    assert marking.on_failed(0, "ValueError: x", "ValueError") == [1, 2]
    assert (marking.status_of(0), marking.status_of(3)) == ("bypassed", "skipped")
    assert marking.reason_of(3) == "t0: ValueError: x"


def test_a_task_that_fails_and_counts_as_skipped_stops_what_is_after_it() -> None:
    marking = marking_of({"on_error": "skip"}, {"after": [0]}, {"prefers": [0]})
    marking.start()
    assert marking.on_failed(0, "ValueError: x", "ValueError") == [2]
    assert (marking.status_of(0), marking.states[1]) == ("bypassed", "skipped_by_gate")


def test_after_a_failure_nothing_is_started_and_what_runs_is_awaited() -> None:
    marking = marking_of({}, {}, {}, {"after": [1]}, {"after": [0, 2], "finally_": True})
    marking.start()
    assert marking.on_failed(0, "ValueError: x", "ValueError") == []
    assert not marking.wants(1)
    assert marking.on_done(1) == []
    assert marking.on_failed(2, "KeyError: 'y'", "KeyError") == []
    verdict = marking.verdict()
    assert verdict.error == "ValueError: x; KeyError: 'y'"
    assert (verdict.status, verdict.error_class, verdict.failed_task) == ("failed", "ValueError", "t0")
    assert [marking.status_of(index) for index in range(5)] == ["failed", "done", "failed", *["not_started"] * 2]


def test_an_end_starts_only_what_is_marked_finally() -> None:
    marking = marking_of({}, {"after": [0]}, {"prefers": [1], "finally_": True}, {"requires": [1], "finally_": True})
    marking.start()
    assert marking.on_end(0, "rejected", "blocked word") == [2]
    assert marking.states == ["ended", "dropped", "running", "skipped"]
    assert marking.wants(2)
    marking.on_done(2)
    verdict = marking.verdict()
    assert (verdict.status, verdict.reason) == ("rejected", "blocked word")
    assert [marking.status_of(index) for index in range(4)] == ["done", "not_started", "done", "skipped"]
    assert marking.reason_of(3) == "no result of t1"


def test_an_end_in_another_state_than_rejected_is_done_with_its_state_in_the_reason() -> None:
    marking = marking_of({})
    marking.start()
    marking.on_end(0, "archived", "too old")
    verdict = marking.verdict()
    assert (verdict.status, verdict.reason) == ("done", "archived: too old")


def test_a_task_that_fails_closed_ends_the_run_as_rejected() -> None:
    marking = marking_of({"on_error": "fail_closed"}, {"requires": [0]})
    marking.start()
    marking.on_failed(0, "TimeoutError: late", "TimeoutError")
    verdict = marking.verdict()
    assert (verdict.status, verdict.reason) == ("rejected", "t0 failed closed: TimeoutError: late")
    assert (marking.status_of(0), marking.status_of(1)) == ("failed", "not_started")


def test_a_sibling_that_fails_after_an_end_does_not_undo_it_but_a_finally_task_does() -> None:
    marking = marking_of({}, {}, {"finally_": True})
    marking.start()
    marking.on_end(0, "rejected", "no")
    assert not marking.wants(1)
    marking.on_failed(1, "ValueError: x", "ValueError")
    assert marking.status_of(1) == "failed"
    assert marking.wants(2)
    marking.on_failed(2, "OSError: disk", "OSError")
    verdict = marking.verdict()
    assert (verdict.status, verdict.error, verdict.failed_task) == ("failed", "OSError: disk", "t2")


def test_the_first_end_counts() -> None:
    marking = marking_of({}, {})
    marking.start()
    marking.on_end(0, "rejected", "first")
    marking.on_end(1, "archived", "second")
    assert marking.verdict().reason == "first"


def test_a_verdict_on_a_run_under_way_is_refused() -> None:
    marking = marking_of({})
    marking.start()
    with pytest.raises(InvariantBroken, match="t0"):
        marking.verdict()


def test_a_skip_runs_down_a_long_chain_without_recursion() -> None:
    marking = marking_of({}, *({"after": [index]} for index in range(3_000)))
    marking.start()
    marking.on_skip(0, "no")
    assert set(marking.states[1:]) == {"skipped_by_gate"}
