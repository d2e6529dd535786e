"""Any plan without a cycle compiles into a graph that says the same as the plan, and the same every time."""

from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct, defstruct

from gristmill import Item, Plan, kept
from gristmill.domain.errors import ConfigError
from gristmill.plans.compile import EXPLAINED_ARROWS_MAX, compile_plan
from gristmill.plans.graph import FIRST_NODE_SLOT, SLOT_ITEM, SLOT_NONE, Graph
from gristmill.plans.operator import Operator, Options
from gristmill.plans.placement import Placement

TYPE_COUNT = 6


def make_result(number: int) -> type[Struct]:
    return kept(defstruct(f"Result{number}", [("n", int, 0)], frozen=True, module=__name__))


RESULTS = [make_result(number) for number in range(TYPE_COUNT)]


class Wish(Struct, frozen=True):
    """One parameter of a drawn task: the type it takes, whether it may be missing, and its earlier producer if any."""

    result: int
    optional: bool
    producer: int | None


class Drawn(Struct, frozen=True):
    """One drawn task; all indexes point to earlier tasks, so what is drawn has no cycle."""

    result: int | None
    takes_item: bool
    wishes: tuple[Wish, ...]
    after: tuple[int, ...]
    after_any: tuple[int, ...]


@st.composite
def drawn_plans(draw: st.DrawFn) -> list[Drawn]:
    tasks: list[Drawn] = []
    for number in range(draw(st.integers(1, 10))):
        producers = [index for index, task in enumerate(tasks) if task.result is not None]
        wishes: list[Wish] = []
        for producer in draw(st.lists(st.sampled_from(producers), max_size=3)) if producers else ():
            result = tasks[producer].result
            assert result is not None
            wishes.append(Wish(result, draw(st.booleans()), producer))
        given = {task.result for task in tasks}
        missing = [result for result in range(TYPE_COUNT) if result not in given]
        if draw(st.booleans()) and missing:
            wishes.append(Wish(draw(st.sampled_from(missing)), optional=True, producer=None))
        earlier: st.SearchStrategy[list[int]] = (
            st.lists(st.integers(0, number - 1), max_size=2) if number else st.just([])
        )
        gives = draw(st.none() | st.integers(0, TYPE_COUNT - 1))
        after, after_any = tuple(draw(earlier)), tuple(draw(earlier))
        tasks.append(Drawn(gives, draw(st.booleans()), tuple(wishes), after, after_any))
    return tasks


def make_operator(number: int, task: Drawn) -> Operator:
    annotations: dict[str, Any] = {"item": Item} if task.takes_item else {}
    for index, wish in enumerate(task.wishes):
        wanted: Any = RESULTS[wish.result]
        annotations[f"p{index}"] = wanted | None if wish.optional else wanted
    names = ", ".join(annotations)
    namespace: dict[str, Any] = {}
    exec(f"def t{number}({names}): ...", namespace)
    function = namespace[f"t{number}"]
    function.__annotations__ = {**annotations, "return": None if task.result is None else RESULTS[task.result]}
    return Operator(function, Options())


def make_placements(tasks: list[Drawn]) -> list[Placement]:
    given = Counter(task.result for task in tasks)
    placements: list[Placement] = []
    for number, task in enumerate(tasks):
        absent = [RESULTS[wish.result] for wish in task.wishes if wish.producer is None and not given[wish.result]]
        bind: dict[str, Any] = {
            f"p{index}": placements[wish.producer] if number % 2 else f"t{wish.producer}"
            for index, wish in enumerate(task.wishes)
            if wish.producer is not None and (number % 3 == 0 or given[wish.result] - (task.result == wish.result) > 1)
        }
        placements.append(
            make_operator(number, task).use(
                after=[placements[other] for other in task.after],
                after_any=[f"t{other}" for other in task.after_any],
                bind=bind,
                absent=absent,
            )
        )
    return placements


def keep_possible(tasks: list[Drawn]) -> list[Drawn]:
    """Drop wishes for a missing result that a later task turned out to give."""
    given = {task.result for task in tasks}
    return [
        Drawn(
            task.result,
            task.takes_item,
            tuple(wish for wish in task.wishes if wish.producer is not None or wish.result not in given),
            task.after,
            task.after_any,
        )
        for task in tasks
    ]


plans = drawn_plans().map(keep_possible)


@given(plans, st.randoms(use_true_random=False))
def test_a_plan_without_a_cycle_compiles_to_what_it_says(tasks: list[Drawn], chance: Any) -> None:
    placements = make_placements(tasks)
    chance.shuffle(placements)
    graph = compile_plan(Plan("p", tasks=placements))
    index_of = {node.name: node.index for node in graph.nodes}
    assert [node.index for node in graph.nodes] == list(range(len(tasks)))
    assert sorted(index_of) == sorted(f"t{number}" for number in range(len(tasks)))
    for number, task in enumerate(tasks):
        node = graph.nodes[index_of[f"t{number}"]]
        filled = [SLOT_ITEM] if task.takes_item else []
        filled += [
            SLOT_NONE if wish.producer is None else FIRST_NODE_SLOT + index_of[f"t{wish.producer}"]
            for wish in task.wishes
        ]
        assert node.arguments == tuple(filled)
        edges = {
            "requires": [wish.producer for wish in task.wishes if wish.producer is not None and not wish.optional],
            "prefers": [wish.producer for wish in task.wishes if wish.producer is not None and wish.optional],
            "after": list(task.after),
            "after_any": list(task.after_any),
        }
        for kind, wanted in edges.items():
            assert getattr(node, kind) == tuple(sorted({index_of[f"t{other}"] for other in wanted}))


@given(plans)
def test_order_successors_and_counts_agree(tasks: list[Drawn]) -> None:
    graph = compile_plan(Plan("p", tasks=make_placements(tasks)))
    for node in graph.nodes:
        predecessors = {*node.requires, *node.prefers, *node.after, *node.after_any}
        assert all(other < node.index for other in predecessors)
        assert node.predecessor_count == len(predecessors)
        assert node.successors == tuple(
            other.index
            for other in graph.nodes
            if node.index in {*other.requires, *other.prefers, *other.after, *other.after_any}
        )


def shape(graph: Graph) -> list[Any]:
    return [
        (node.name, node.arguments, node.requires, node.prefers, node.after, node.after_any, node.successors)
        for node in graph.nodes
    ]


@given(plans)
def test_a_plan_compiles_to_the_same_graph_every_time(tasks: list[Drawn]) -> None:
    placements = make_placements(tasks)
    first, again = compile_plan(Plan("p", tasks=placements)), compile_plan(Plan("p", tasks=placements))
    rebuilt = compile_plan(Plan("p", tasks=make_placements(tasks)))
    assert shape(first) == shape(again) == shape(rebuilt)


@given(plans, st.data())
def test_a_cycle_is_refused_and_every_arrow_of_it_is_an_edge(tasks: list[Drawn], data: st.DataObject) -> None:
    length = data.draw(st.integers(1, min(4, len(tasks))))
    ring = data.draw(st.permutations(range(len(tasks))))[:length]
    tasks = [
        Drawn(task.result, task.takes_item, task.wishes, task.after, (*task.after_any, ring[ring.index(number) - 1]))
        if number in ring
        else task
        for number, task in enumerate(tasks)
    ]
    with pytest.raises(ConfigError) as caught:
        compile_plan(Plan("p", tasks=make_placements(tasks)))
    assert "plan 'p' has a cycle" in str(caught.value)
    names = str(caught.value.value).split(" -> ")
    assert names[0] == names[-1]
    assert ("more" in caught.value.advice) == (len(names) - 1 > EXPLAINED_ARROWS_MAX)
    for position, (first, then) in enumerate(pairwise(names)):
        task = tasks[int(then[1:])]
        before = {*task.after, *task.after_any, *(wish.producer for wish in task.wishes)}
        assert int(first[1:]) in before
        if position < EXPLAINED_ARROWS_MAX:
            reasons = (f"'{then}' is placed after '{first}'", f"from '{first}'")
            assert any(reason in caught.value.advice for reason in reasons)
