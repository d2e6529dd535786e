"""Plans and runs as SVG: well formed, harmless, and telling a status in more than colour."""

import re
from xml.etree import ElementTree

import msgspec
import pytest

from gristmill.api.console.graph.bars import draw_bars, draw_share, draw_span
from gristmill.api.console.graph.drawing import STATUS_WORDS, draw_plan, show_duration
from gristmill.api.console.graph.drawn_core import (
    Arrow,
    DrawnPlan,
    DrawnTask,
    Shown,
    compose_drawn_plan,
    compose_drawn_run,
)
from gristmill.domain.commit import StoredRun
from gristmill.domain.ids import ItemId, RunId
from gristmill.domain.run import TaskReport
from tests.graphs import build_graph, build_node

SVG = "{http://www.w3.org/2000/svg}"
GRAPH = build_graph(
    [
        build_node(0),
        build_node(1, requires=[0]),
        build_node(2, prefers=[0], after=[1]),
        build_node(3, after_any=[2], requires=[0]),
    ]
)
RUN = StoredRun(
    run_id=RunId("a" * 32),
    plan="plan",
    plan_version=1,
    generator="gen",
    item_id=ItemId(1),
    position=1,
    status="done",
    started_at_ms=1,
    ended_at_ms=2,
    reason="",
    error="",
    attempt=1,
    tasks=tuple(TaskReport(f"t{index}", "done", 1, index * 10, 5) for index in range(4)),
    cells=(),
    labels=(),
    effects=(),
)


def parse(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1))


def test_a_run_is_drawn_over_the_graph_it_ran_on() -> None:
    drawn = compose_drawn_run(RUN, GRAPH)
    assert [(arrow.source, arrow.target, arrow.kind) for arrow in drawn.arrows] == [
        (0, 1, "requires"),
        (1, 2, "after"),
        (0, 2, "prefers"),
        (0, 3, "requires"),
        (2, 3, "after_any"),
    ]
    assert [arrow.is_optional for arrow in drawn.arrows] == [False, False, True, False, True]
    assert drawn.tasks[1] == DrawnTask("t1", "done", "gate", "1", 1, 10, 5)


@pytest.mark.parametrize("changes", [{"plan_version": 2}, {"tasks": RUN.tasks[:3]}, {"tasks": ()}])
def test_a_run_of_another_version_has_tasks_and_no_edges(changes: dict[str, object]) -> None:
    run = msgspec.structs.replace(RUN, **changes)
    drawn = compose_drawn_run(run, GRAPH)
    assert (drawn.has_edges, drawn.arrows) == (False, ())
    assert [task.name for task in drawn.tasks] == [task.task for task in run.tasks]
    assert compose_drawn_run(run, None) == drawn
    assert len(parse(draw_plan(drawn, name="g")).findall(f"{SVG}g")) == len(run.tasks)


def test_a_plan_is_drawn_without_a_run() -> None:
    assert {task.status for task in compose_drawn_plan(GRAPH).tasks} == {"planned"}
    assert "gate" in draw_plan(compose_drawn_plan(GRAPH), name="g")


def test_every_task_is_drawn_once_and_every_edge_too() -> None:
    svg = parse(draw_plan(compose_drawn_run(RUN, GRAPH), name="g"))
    names = [text.text for text in svg.iter(f"{SVG}text") if text.get("class") == "task-name"]
    assert sorted(str(name) for name in names) == ["t0", "t1", "t2", "t3"]
    arrows = [path.get("class") for path in svg.findall(f"{SVG}path")]
    assert len(arrows) == 5
    assert sum("arrow-optional" in str(kind) for kind in arrows) == 2


def test_a_drawing_has_a_title_and_a_description_for_screen_readers() -> None:
    svg = parse(draw_plan(compose_drawn_run(RUN, GRAPH), name="g"))
    assert svg.get("role") == "img"
    named = {element.get("id"): element.text for element in svg.iter() if element.get("id")}
    title, description = str(svg.get("aria-labelledby")).split()
    assert named[title] == "Plan plan, version 1"
    assert "4 tasks: 4 done" in str(named[description])


@pytest.mark.parametrize("status", sorted(STATUS_WORDS))
def test_a_status_is_told_by_word_sign_and_form(status: Shown) -> None:
    drawn = {one: draw_plan(make_drawn(one), name="g") for one in STATUS_WORDS}
    assert f"task-{status.replace('_', '-')}" in drawn[status]
    assert STATUS_WORDS[status] in drawn[status]
    signs = {one: re.findall(r'task-sign"[^>]* d="([^"]*)"', svg)[0] for one, svg in drawn.items()}
    assert len(set(signs.values())) == len(STATUS_WORDS)


def test_a_failed_task_has_a_form_of_its_own() -> None:
    outlines = {
        one: re.findall(r'task-box" d="([^"]*)"', draw_plan(make_drawn(one), name="g"))[0] for one in STATUS_WORDS
    }
    assert len({outlines["done"], outlines["failed"], outlines["skipped"]}) == 3


def test_repeated_attempts_are_counted_on_the_box() -> None:
    task = DrawnTask("a", "done", attempts=3, duration_us=7)
    assert "3×" in draw_plan(DrawnPlan("p", 1, (task,), ()), name="g")
    assert "×" not in draw_plan(make_drawn("done"), name="g")


def test_names_and_reasons_are_escaped_and_long_names_cut() -> None:
    hostile = '"><script>alert(1)</script>' + "x" * 50
    tasks = (DrawnTask(hostile, "failed", operator=hostile, attempts=1, reason=hostile), DrawnTask("b", "skipped"))
    svg = draw_plan(DrawnPlan(hostile, 1, tasks, (Arrow(0, 1, "requires"),)), name="g")
    assert "<script" not in svg
    parse(svg)
    assert "…" in svg


def test_a_drawing_needs_no_style_of_its_own() -> None:
    assert "style" not in draw_plan(compose_drawn_run(RUN, GRAPH), name="g")


@pytest.mark.parametrize(("us", "shown"), [(0, "0 µs"), (999, "999 µs"), (1_500, "1.5 ms"), (2_500_000, "2.50 s")])
def test_a_span_of_time_is_shown_in_the_unit_that_reads_best(us: int, shown: str) -> None:
    assert show_duration(us) == shown


def test_bars_are_as_high_as_their_share_and_escaped() -> None:
    svg = parse(draw_bars([("a", 10), ("<b>", 5), ("c", 0)], name="n", title="<t>"))
    heights = [rect.get("height") for rect in svg.iter(f"{SVG}rect") if rect.get("class") == "bar-fill"]
    assert heights == ["72", "36", "0"]
    parse(draw_bars([], name="n", title=""))


@pytest.mark.parametrize(
    ("start", "duration", "whole", "x", "width"),
    [
        (0, 10, 100, "0", "100"),
        (50, 50, 100, "500", "500"),
        (100, 0, 100, "994", "6"),
        (0, 0, 0, "0", "6"),
        (90, 90, 100, "100", "900"),
    ],
)
def test_a_span_lies_inside_its_run(start: int, duration: int, whole: int, x: str, width: str) -> None:
    fill = parse(draw_span(start, duration, whole, status="not_started")).findall(f"{SVG}rect")[1]
    assert (fill.get("x"), fill.get("width")) == (x, width)
    assert fill.get("class") == "span-fill span-not-started"


def test_a_share_of_nothing_is_nothing() -> None:
    assert 'width="0"' in draw_share(1, 0)
    assert 'fill" width="50"' in draw_share(1, 2)


def make_drawn(status: Shown) -> DrawnPlan:
    return DrawnPlan("p", 1, (DrawnTask("a", status, attempts=1),), ())
