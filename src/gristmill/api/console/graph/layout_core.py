"""Gives every box of a layered graph a place, and every edge a way, in whole pixels.

Layers lie below one another, so every edge goes down. Within a layer the order is that of `layers_core`; places are
the closest to the mean of their neighbours that keep the order and the gaps: a least-squares fit, solved exactly by
pooling neighbours that want to pass each other (isotonic regression by pool adjacent violators).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import msgspec

from gristmill.api.console.graph.layers_core import Layered, arrange_layers

__all__ = ["Box", "Layout", "Sizes", "compute_layout"]

PASSES = 8
"""Down and up in turn; further ones move nothing by more than a few pixels."""


class Sizes(msgspec.Struct, frozen=True):
    """Pixels.

    Attributes:
        lane: width of the lane that a long edge keeps free beside boxes.
        gap_x: between boxes of a layer.
        gap_lane: between a lane and what is beside it.
        gap_y: between layers.
        margin: around the whole.
    """

    box_width: int
    box_height: int
    lane: int = 10
    gap_x: int = 14
    gap_lane: int = 4
    gap_y: int = 28
    margin: int = 8


class Box(msgspec.Struct, frozen=True):
    """A box by its upper left corner."""

    x: int
    y: int
    width: int
    height: int


class Layout(msgspec.Struct, frozen=True):
    """Where everything goes.

    Attributes:
        boxes: one for each node, by its index.
        ways: for each edge the points that it goes through, from the lower side of its source to the upper side of
            its target; y never falls.
    """

    width: int
    height: int
    boxes: tuple[Box, ...]
    ways: tuple[tuple[tuple[int, int], ...], ...]


def compute_layout(node_count: int, edges: Sequence[tuple[int, int]], sizes: Sizes) -> Layout:
    """Return the places of all boxes and edges.

    Args:
        edges: (source, target) with source < target, as in a topological order.
    Raises:
        InvariantBroken: an edge that goes backwards or to a node that does not exist.
    """
    layered = arrange_layers(node_count, edges)
    centres = _place(layered, node_count, sizes)
    left = min((centre - _half(place, node_count, sizes) for place, centre in centres.items()), default=0)
    shift = sizes.margin - left
    tops = [sizes.margin + number * (sizes.box_height + sizes.gap_y) for number in range(len(layered.layers))]
    layer_of = {place: number for number, row in enumerate(layered.layers) for place in row}
    boxes = tuple(
        Box(
            centres[node] + shift - sizes.box_width // 2,
            tops[layer_of[node]],
            sizes.box_width,
            sizes.box_height,
        )
        for node in range(node_count)
    )
    ways = tuple(
        _trace([(centres[place] + shift, tops[layer_of[place]]) for place in path], sizes) for path in layered.paths
    )
    right = max(
        (centre + shift + _half(place, node_count, sizes) for place, centre in centres.items()), default=sizes.margin
    )
    height = tops[-1] + sizes.box_height + sizes.margin if tops else 2 * sizes.margin
    return Layout(right + sizes.margin, height, boxes, ways)


def _half(place: int, node_count: int, sizes: Sizes) -> int:
    width = sizes.box_width if place < node_count else sizes.lane
    return (width + 1) // 2


def _place(layered: Layered, node_count: int, sizes: Sizes) -> dict[int, int]:
    """Return the centre of each place."""
    neighbours: dict[int, tuple[list[int], list[int]]] = {}
    for row in layered.layers:
        neighbours.update((place, ([], [])) for place in row)
    for path in layered.paths:
        for upper, lower in pairwise(path):
            neighbours[upper][1].append(lower)
            neighbours[lower][0].append(upper)
    centres: dict[int, int] = {}
    for row in layered.layers:
        offsets = _offsets(row, node_count, sizes)
        middle = offsets[-1] // 2
        centres.update((place, offset - middle) for place, offset in zip(row, offsets, strict=True))
    for number in range(PASSES):
        goes_down = number % 2 == 0
        for row in layered.layers if goes_down else layered.layers[::-1]:
            side = 0 if goes_down else 1
            wanted = [_mean([centres[near] for near in neighbours[place][side]], centres[place]) for place in row]
            fitted = _fit(wanted, _offsets(row, node_count, sizes))
            centres.update(zip(row, fitted, strict=True))
    return centres


def _offsets(row: Sequence[int], node_count: int, sizes: Sizes) -> list[int]:
    """Return the centres of a row that is as narrow as can be, the first at 0."""
    offsets = [0]
    for left, right in pairwise(row):
        gap = sizes.gap_x if max(left, right) < node_count else sizes.gap_lane
        apart = _half(left, node_count, sizes) + _half(right, node_count, sizes) + gap
        offsets.append(offsets[-1] + apart)
    return offsets


def _mean(near: Sequence[int], otherwise: int) -> float:
    return sum(near) / len(near) if near else otherwise


def _fit(wanted: Sequence[float], offsets: Sequence[int]) -> list[int]:
    """Return the places nearest to `wanted` that are at least as far apart as `offsets` are."""
    pools: list[tuple[float, int]] = []
    for want, offset in zip(wanted, offsets, strict=True):
        mean, count = want - offset, 1
        while pools and pools[-1][0] > mean:
            other, others = pools.pop()
            mean, count = (mean * count + other * others) / (count + others), count + others
        pools.append((mean, count))
    shifts = [round(mean) for mean, count in pools for _ in range(count)]
    return [shift + offset for shift, offset in zip(shifts, offsets, strict=True)]


def _trace(tops: Sequence[tuple[int, int]], sizes: Sizes) -> tuple[tuple[int, int], ...]:
    """Return the way of an edge whose places have these upper middles."""
    (x, top), *bends, end = tops
    points = [(x, top + sizes.box_height)]
    for x, top in bends:
        points += [(x, top), (x, top + sizes.box_height)]
    return (*points, end)
