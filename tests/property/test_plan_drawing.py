"""Any graph without a cycle is drawn with each node once, no box over another, and every edge downwards."""

from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill.api.console.graph.layers_core import arrange_layers, count_crossings
from gristmill.api.console.graph.layout_core import Box, Sizes, compute_layout
from gristmill.domain.errors import InvariantBroken

SIZES = Sizes(box_width=100, box_height=40)


@st.composite
def graphs(draw: st.DrawFn) -> tuple[int, list[tuple[int, int]]]:
    count = draw(st.integers(0, 14))
    pairs = list(combinations(range(count), 2))
    edges = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=40)) if pairs else []
    return count, edges


@given(graphs())
def test_every_node_stands_in_one_layer_and_every_edge_leads_to_the_next(
    graph: tuple[int, list[tuple[int, int]]],
) -> None:
    count, edges = graph
    layered = arrange_layers(count, edges)
    layer_of = {place: number for number, row in enumerate(layered.layers) for place in row}
    assert sorted(place for row in layered.layers for place in row) == list(range(len(layer_of)))
    for (source, target), path in zip(edges, layered.paths, strict=True):
        assert (path[0], path[-1]) == (source, target)
        assert all(layer_of[lower] == layer_of[upper] + 1 for upper, lower in pairwise(path))
    for node in range(count):
        above = [layer_of[source] for source, target in edges if target == node]
        assert layer_of[node] == max(above, default=-1) + 1


@given(graphs())
def test_no_two_boxes_overlap_and_all_lie_inside(graph: tuple[int, list[tuple[int, int]]]) -> None:
    layout = compute_layout(*graph, SIZES)
    assert len(layout.boxes) == graph[0]
    for one, other in combinations(layout.boxes, 2):
        assert are_apart(one, other)
    for box in layout.boxes:
        assert box.x >= 0
        assert box.x + box.width <= layout.width
        assert box.y >= 0
        assert box.y + box.height <= layout.height


@given(graphs())
def test_every_edge_goes_down_from_its_source_to_its_target_past_all_other_boxes(
    graph: tuple[int, list[tuple[int, int]]],
) -> None:
    count, edges = graph
    layout = compute_layout(count, edges, SIZES)
    for (source, target), way in zip(edges, layout.ways, strict=True):
        start, end = layout.boxes[source], layout.boxes[target]
        assert way[0] == (start.x + start.width // 2, start.y + start.height)
        assert way[-1] == (end.x + end.width // 2, end.y)
        assert all(upper[1] <= lower[1] for upper, lower in pairwise(way))
        assert all(0 <= x <= layout.width for x, _ in way)
        for (x, top), (_, bottom) in list(pairwise(way))[1::2]:
            assert not any(
                box.x < x < box.x + box.width and box.y < bottom and top < box.y + box.height for box in layout.boxes
            )


@given(graphs())
def test_a_graph_is_drawn_the_same_every_time(graph: tuple[int, list[tuple[int, int]]]) -> None:
    assert compute_layout(*graph, SIZES) == compute_layout(*graph, SIZES)


@given(graphs())
def test_ordering_never_adds_crossings(graph: tuple[int, list[tuple[int, int]]]) -> None:
    layered = arrange_layers(*graph)
    as_given = [sorted(row) for row in layered.layers]
    assert count_crossings(layered.layers, layered.paths) <= count_crossings(as_given, layered.paths)


def test_a_crossing_that_can_be_avoided_is() -> None:
    edges = [(0, 3), (1, 2)]
    layered = arrange_layers(4, edges)
    assert layered.layers == ((0, 1), (3, 2))
    assert count_crossings(layered.layers, layered.paths) == 0


def test_crossings_are_counted_in_pairs() -> None:
    assert count_crossings([(0, 1), (2, 3)], [(0, 3), (1, 2)]) == 1
    assert count_crossings([(0, 1), (2, 3)], [(0, 2), (0, 3), (1, 3)]) == 0


def test_an_empty_graph_takes_no_more_than_its_margin() -> None:
    layout = compute_layout(0, [], SIZES)
    assert (layout.width, layout.height, layout.boxes) == (16, 16, ())


@pytest.mark.parametrize("edge", [(1, 0), (0, 0), (0, 2), (-1, 1)])
def test_an_edge_that_goes_backwards_is_refused(edge: tuple[int, int]) -> None:
    with pytest.raises(InvariantBroken):
        compute_layout(2, [edge], SIZES)


def are_apart(one: Box, other: Box) -> bool:
    left, right = sorted((one, other), key=lambda box: box.x)
    upper, lower = sorted((one, other), key=lambda box: box.y)
    return left.x + left.width <= right.x or upper.y + upper.height <= lower.y
