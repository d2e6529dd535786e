"""Puts the nodes of a graph without cycles into layers and orders each layer so that few edges cross.

A node stands in the first layer below all its predecessors (longest path). An edge that spans several layers gets a
*bend* in each layer between, which holds a lane free for it. The order within the layers follows the barycentre
method: sweeps down and up, in which each place goes to the mean of its neighbours; the best order seen is kept.
Equal input gives equal output; ties stay in the order that they had.

Source: Sugiyama, Tagawa, Toda: Methods for visual understanding of hierarchical system structures (1981).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise

import msgspec

from gristmill.domain.errors import InvariantBroken

__all__ = ["Layered", "arrange_layers", "count_crossings"]

SWEEPS_MAX = 12
"""Down and up in turn. Plans of tens of tasks stand still after about four."""


class Layered(msgspec.Struct, frozen=True):
    """A graph in layers.

    Attributes:
        layers: places of each layer from left to right. Places below the node count are nodes, the others are bends.
        paths: for each edge, in the order given, its places from source to target.
    """

    layers: tuple[tuple[int, ...], ...]
    paths: tuple[tuple[int, ...], ...]


def arrange_layers(node_count: int, edges: Sequence[tuple[int, int]]) -> Layered:
    """Return the nodes in layers.

    Args:
        edges: (source, target) with source < target, as in a topological order.
    Raises:
        InvariantBroken: an edge that goes backwards or to a node that does not exist.
    """
    depth = _compute_depths(node_count, edges)
    rows: list[list[int]] = [[] for _ in range(max(depth, default=-1) + 1)]
    for node in range(node_count):
        rows[depth[node]].append(node)
    paths: list[tuple[int, ...]] = []
    place = node_count
    for source, target in edges:
        path = [source]
        for layer in range(depth[source] + 1, depth[target]):
            rows[layer].append(place)
            path.append(place)
            place += 1
        paths.append((*path, target))
    return Layered(_reduce_crossings([tuple(row) for row in rows], paths, place), tuple(paths))


def count_crossings(layers: Sequence[Sequence[int]], paths: Iterable[Sequence[int]]) -> int:
    """Return how many pairs of edge pieces between neighbouring layers cross."""
    spot = {place: index for row in layers for index, place in enumerate(row)}
    layer_of = {place: number for number, row in enumerate(layers) for place in row}
    pieces: list[list[tuple[int, int]]] = [[] for _ in layers]
    for path in paths:
        for upper, lower in pairwise(path):
            pieces[layer_of[upper]].append((spot[upper], spot[lower]))
    return sum(_count_inversions(sorted(between)) for between in pieces)


def _compute_depths(node_count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    depth = [0] * node_count
    for source, target in sorted(edges, key=lambda edge: edge[::-1]):
        if not 0 <= source < target < node_count:
            raise InvariantBroken("edge of a drawing goes backwards", value=(source, target))
        depth[target] = max(depth[target], depth[source] + 1)
    return depth


def _reduce_crossings(
    layers: list[tuple[int, ...]], paths: Sequence[Sequence[int]], place_count: int
) -> tuple[tuple[int, ...], ...]:
    above: list[list[int]] = [[] for _ in range(place_count)]
    below: list[list[int]] = [[] for _ in range(place_count)]
    for path in paths:
        for upper, lower in pairwise(path):
            above[lower].append(upper)
            below[upper].append(lower)
    best, best_count = tuple(layers), count_crossings(layers, paths)
    for sweep in range(SWEEPS_MAX):
        if not best_count:
            break
        goes_down = sweep % 2 == 0
        _sweep(layers, above if goes_down else below, goes_down=goes_down)
        crossings = count_crossings(layers, paths)
        if crossings < best_count:
            best, best_count = tuple(layers), crossings
    return best


def _sweep(layers: list[tuple[int, ...]], neighbours: Sequence[Sequence[int]], *, goes_down: bool) -> None:
    order = range(1, len(layers)) if goes_down else range(len(layers) - 2, -1, -1)
    for number in order:
        fixed = layers[number - 1 if goes_down else number + 1]
        spot = {place: index for index, place in enumerate(fixed)}
        wanted: dict[int, float] = {}
        for index, place in enumerate(layers[number]):
            near = [spot[other] for other in neighbours[place]]
            # A place without neighbours on that side stays about where it is.
            wanted[place] = sum(near) / len(near) if near else index * len(fixed) / len(layers[number])
        layers[number] = tuple(sorted(layers[number], key=wanted.__getitem__))


def _count_inversions(pieces: Iterable[tuple[int, int]]) -> int:
    """Pieces come sorted by both ends; each pair whose lower ends stand the other way round crosses."""
    seen: list[int] = []
    count = 0
    for _, lower in pieces:
        before = bisect_right(seen, lower)
        count += len(seen) - before
        seen.insert(before, lower)
    return count
