"""What a set of found items has in common: counts by value, and how they lie in time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

__all__ = ["Bar", "Known", "Summary", "compute_bars", "summarise"]

BARS_MAX = 48
VALUES_MAX = 12
"""Of each field; the rest is counted together."""

S, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000
WIDTHS_MS = (
    *(S, 5 * S, 15 * S, 30 * S),
    *(MINUTE, 5 * MINUTE, 15 * MINUTE, 30 * MINUTE),
    *(HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR),
    *(DAY, 7 * DAY, 28 * DAY, 364 * DAY),
)
"""Spans that a person reads at a glance, so that bars begin where a clock or a week does."""


class Known(msgspec.Struct, frozen=True):
    """What is counted of one item: its time, and the values of each field, of which it may have several."""

    at_ms: int
    values: dict[str, tuple[str, ...]]


class Bar(msgspec.Struct, frozen=True):
    """How many items there are from `start_ms` on, up to the next bar."""

    start_ms: int
    end_ms: int
    count: int


class Summary(msgspec.Struct, frozen=True):
    """Counts of a set of items.

    Attributes:
        counts: field -> (value, items that have it), the most frequent first.
        others: field -> how many further values there are.
    """

    count: int
    counts: dict[str, list[tuple[str, int]]]
    others: dict[str, int]
    bars: list[Bar]


def summarise(items: Sequence[Known]) -> Summary:
    """Return the counts of items."""
    counters: dict[str, Counter[str]] = {}
    for item in items:
        for field, values in item.values.items():
            counters.setdefault(field, Counter()).update(dict.fromkeys(values, 1))
    ranked = {field: sorted(of_field.items(), key=_most_first) for field, of_field in counters.items()}
    return Summary(
        len(items),
        {field: values[:VALUES_MAX] for field, values in ranked.items()},
        {field: max(0, len(values) - VALUES_MAX) for field, values in ranked.items()},
        compute_bars(item.at_ms for item in items),
    )


def compute_bars(times_ms: Iterable[int]) -> list[Bar]:
    """Return at most BARS_MAX bars of one width, without gaps, from the earliest to the latest time."""
    times = sorted(times_ms)
    if not times:
        return []
    width = _choose_width(times[0], times[-1])
    counts = Counter(at_ms // width for at_ms in times)
    return [
        Bar(number * width, (number + 1) * width, counts[number])
        for number in range(times[0] // width, times[-1] // width + 1)
    ]


def _most_first(pair: tuple[str, int]) -> tuple[int, str]:
    return -pair[1], pair[0]


def _choose_width(first_ms: int, last_ms: int) -> int:
    for width in WIDTHS_MS:
        if last_ms // width - first_ms // width < BARS_MAX:
            return width
    width = WIDTHS_MS[-1]
    while last_ms // width - first_ms // width >= BARS_MAX:
        width *= 2
    return width
