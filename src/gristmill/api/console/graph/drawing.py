"""Draws a plan or a run as SVG.

Status shows in four ways, so that none has to be seen: the word, a sign, the form of the box and its colour. Looks are
left to classes, since pages allow no style of their own; words that came from outside are escaped. Beside a drawing a
page gives the same as a table.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from html import escape

from gristmill.api.console.graph.drawn_core import Arrow, DrawnPlan, DrawnTask, Shown
from gristmill.api.console.graph.layout_core import Box, Layout, Sizes, compute_layout

__all__ = ["STATUS_WORDS", "draw_plan", "show_duration"]

CHAR_PX = 7
"""Width of a letter of the monospaced face at 11.5 px, rounded up."""

NAME_CHARS_MAX = 26
BOX_HEIGHT = 42
BOX_PADDING = 36
"""For the sign on the left and air on the right."""

STATUS_CHARS = 16
"""The second line, such as `bypassed 120.5 ms`."""

CORNER = 9
CURVE = 16
LAYOUTS_KEPT = 64

STATUS_WORDS: dict[Shown, str] = {
    "done": "done",
    "skipped": "skipped",
    "failed": "failed",
    "bypassed": "bypassed",
    "not_started": "not started",
    "planned": "",
}

SIGNS: dict[Shown, str] = {
    "done": "M1 6l4 4 7-8",
    "skipped": "M1 6h4m3 0h4",
    "failed": "M2 1l9 10m0-10l-9 10",
    "bypassed": "M1 10c1-9 10-9 11 0m0 0l-4-1m4 1l1-4",
    "not_started": "M6.5 1a5 5 0 1 0 .01 0",
    "planned": "M6.5 3a3 3 0 1 0 .01 0",
}
"""Paths in a square of 13 pixels."""


def draw_plan(drawn: DrawnPlan, *, name: str) -> str:
    """Return a plan as an SVG element.

    Args:
        name: unique on the page and fit for an id; ids inside begin with it.
    """
    longest = max((min(len(task.name), NAME_CHARS_MAX) for task in drawn.tasks), default=0)
    sizes = Sizes(box_width=max(longest, STATUS_CHARS) * CHAR_PX + BOX_PADDING, box_height=BOX_HEIGHT)
    edges = tuple((arrow.source, arrow.target) for arrow in drawn.arrows)
    if not drawn.has_edges:
        edges = tuple((index, index + 1) for index in range(len(drawn.tasks) - 1))
    layout = _lay_out(len(drawn.tasks), edges, sizes)
    size = f'width="{layout.width}" height="{layout.height}" viewBox="0 0 {layout.width} {layout.height}"'
    parts = [
        f'<svg class="plan" {size} role="img" aria-labelledby="{name}-title {name}-desc">',
        f'<title id="{name}-title">{escape(f"Plan {drawn.plan}, version {drawn.version}")}</title>',
        f'<desc id="{name}-desc">{escape(_describe(drawn))}</desc>',
        f'<marker id="{name}-tip" class="plan-tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto-start-reverse"><path d="M0 0.5L7.5 4L0 7.5z"/></marker>',
        *_draw_arrows(drawn, layout, name),
        *(_draw_task(task, box) for task, box in zip(drawn.tasks, layout.boxes, strict=True)),
        "</svg>",
    ]
    return "".join(parts)


def show_duration(duration_us: int) -> str:
    """Return a span of time in the unit that reads best."""
    if duration_us < 1_000:
        return f"{duration_us} µs"
    if duration_us < 1_000_000:
        return f"{duration_us / 1_000:.1f} ms"
    return f"{duration_us / 1_000_000:.2f} s"


# A run of a plan is drawn like the one before but for its colours.
@lru_cache(maxsize=LAYOUTS_KEPT)
def _lay_out(count: int, edges: tuple[tuple[int, int], ...], sizes: Sizes) -> Layout:
    return compute_layout(count, edges, sizes)


def _describe(drawn: DrawnPlan) -> str:
    counts: dict[str, int] = {}
    for task in drawn.tasks:
        if word := STATUS_WORDS[task.status]:
            counts[word] = counts.get(word, 0) + 1
    told = ", ".join(f"{count} {word}" for word, count in counts.items())
    return f"{len(drawn.tasks)} tasks" + (f": {told}" if told else "") + ". The table beside it says the same."


def _draw_arrows(drawn: DrawnPlan, layout: Layout, name: str) -> list[str]:
    arrows: Sequence[Arrow | None] = drawn.arrows if drawn.has_edges else [None] * len(layout.ways)
    paths: list[str] = []
    for arrow, way in zip(arrows, layout.ways, strict=True):
        if arrow is None:
            paths.append(f'<path class="arrow arrow-unknown" d="{_trace(way)}"/>')
            continue
        source, target = drawn.tasks[arrow.source], drawn.tasks[arrow.target]
        kinds = ["arrow", f"arrow-{arrow.kind.replace('_', '-')}"]
        if arrow.is_optional:
            kinds.append("arrow-optional")
        if "skipped" in (source.status, target.status) or "not_started" in (source.status, target.status):
            kinds.append("arrow-unused")
        paths.append(f'<path class="{" ".join(kinds)}" marker-end="url(#{name}-tip)" d="{_trace(way)}"/>')
    return paths


def _trace(way: Sequence[tuple[int, int]]) -> str:
    """Return a path that leaves and enters upright: curves across the gaps, straight lines along the lanes."""
    (x, y), *rest = way
    path = [f"M{x} {y}"]
    for index, (next_x, next_y) in enumerate(rest):
        is_lane = index % 2 == 1
        if is_lane or next_x == x:
            path.append(f"L{next_x} {next_y}")
        else:
            path.append(f"C{x} {y + CURVE} {next_x} {next_y - CURVE} {next_x} {next_y}")
        x, y = next_x, next_y
    return "".join(path)


def _draw_task(task: DrawnTask, box: Box) -> str:
    shown = task.name if len(task.name) <= NAME_CHARS_MAX else task.name[: NAME_CHARS_MAX - 1] + "…"
    word = STATUS_WORDS[task.status]
    times = f" {show_duration(task.duration_us)}" if task.attempts else ""
    second = f"{word}{times}" if word else task.operator
    tries = ""
    if task.attempts > 1:
        tries = (
            f'<circle class="tries" cx="{box.width - 2}" cy="2" r="9"/>'
            f'<text class="tries-count" x="{box.width - 2}" y="6">{task.attempts}×</text>'
        )
    return (
        f'<g class="task task-{task.status.replace("_", "-")}" transform="translate({box.x} {box.y})">'
        f"<title>{escape(_tell(task))}</title>"
        f'<path class="task-box" d="{_outline(task.status, box)}"/>'
        f'<path class="task-sign" transform="translate(9 {box.height // 2 - 6})" d="{SIGNS[task.status]}"/>'
        f'<text class="task-name" x="30" y="18">{escape(shown)}</text>'
        f'<text class="task-word" x="30" y="33">{escape(second[:NAME_CHARS_MAX])}</text>'
        f"{tries}</g>"
    )


def _outline(status: Shown, box: Box) -> str:
    """Return the form of a box: corners are round where all went well, cut where it failed, square elsewhere."""
    w, h, c = box.width, box.height, CORNER
    if status == "failed":
        return f"M{c} 0H{w - c}L{w} {c}V{h - c}L{w - c} {h}H{c}L0 {h - c}V{c}z"
    if status == "done":
        return f"M{c} 0H{w - c}a{c} {c} 0 0 1 {c} {c}V{h - c}a{c} {c} 0 0 1 -{c} {c}H{c}a{c} {c} 0 0 1 -{c} -{c}V{c}a{c} {c} 0 0 1 {c} -{c}z"  # noqa: E501
    return f"M0 0H{w}V{h}H0z"


def _tell(task: DrawnTask) -> str:
    parts = [task.name]
    if task.operator:
        parts.append(f"operator {task.operator} revision {task.revision}")
    if word := STATUS_WORDS[task.status]:
        parts.append(word)
    if task.attempts:
        parts.append(f"{task.attempts} attempt{'s' if task.attempts > 1 else ''}, {show_duration(task.duration_us)}")
    if task.reason:
        parts.append(task.reason)
    return "; ".join(parts)
