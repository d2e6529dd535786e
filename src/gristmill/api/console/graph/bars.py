"""Draws small measures as SVG: bars over time, a part of a whole, and when a task ran within its run."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

__all__ = ["draw_bars", "draw_share", "draw_span"]

BARS_HEIGHT = 72
BAR_STEP = 20
BAR_WIDTH = 17
SPAN_WIDTH = 1_000
SPAN_HEIGHT = 12
SPAN_WIDTH_MIN = 6
"""A task of a microsecond beside one of a second is still to be seen."""


def draw_bars(bars: Sequence[tuple[str, int]], *, name: str, title: str) -> str:
    """Return one bar for each (label, count), as high as its share of the highest.

    Args:
        name: unique on the page and fit for an id.
    """
    most = max((count for _, count in bars), default=0)
    drawn: list[str] = []
    for index, (label, count) in enumerate(bars):
        height = max(2, round(count * BARS_HEIGHT / most)) if count else 0
        drawn.append(
            f'<g><rect class="bar-room" x="{index * BAR_STEP}" y="0" width="{BAR_STEP}" height="{BARS_HEIGHT}"/>'
            f'<rect class="bar-fill" x="{index * BAR_STEP + 1}" y="{BARS_HEIGHT - height}" width="{BAR_WIDTH}" '
            f'height="{height}"/><title>{escape(label)}: {count}</title></g>'
        )
    width = max(1, len(bars)) * BAR_STEP
    return (
        f'<svg class="bars" viewBox="0 0 {width} {BARS_HEIGHT}" preserveAspectRatio="none" role="img" '
        f'aria-labelledby="{name}-title"><title id="{name}-title">{escape(title)}</title>{"".join(drawn)}</svg>'
    )


def draw_share(part: float, whole: float) -> str:
    """Return a line as long as its share; what it says stands beside it as a number."""
    width = round(min(1.0, part / whole) * 100) if whole > 0 else 0
    return (
        '<svg class="share" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="share-room" width="100" height="4"/><rect class="share-fill" width="{width}" height="4"/></svg>'
    )


def draw_span(start_us: int, duration_us: int, whole_us: int, *, status: str) -> str:
    """Return when a task ran on the scale of its run; its times stand beside it as numbers."""
    whole = max(1, whole_us)
    width = min(SPAN_WIDTH, max(SPAN_WIDTH_MIN, round(duration_us * SPAN_WIDTH / whole)))
    kind = status.replace("_", "-")
    x = max(0, min(round(start_us * SPAN_WIDTH / whole), SPAN_WIDTH - width))
    return (
        f'<svg class="span" viewBox="0 0 {SPAN_WIDTH} {SPAN_HEIGHT}" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="span-room" width="{SPAN_WIDTH}" height="{SPAN_HEIGHT}"/>'
        f'<rect class="span-fill span-{kind}" x="{x}" width="{width}" height="{SPAN_HEIGHT}"/></svg>'
    )
