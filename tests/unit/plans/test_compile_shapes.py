"""Shapes of plans that are easy to compile wrongly."""

from typing import Any

import pytest
from msgspec import Struct

from gristmill import Item, Join, Plan, Skip, cell, kept, task
from gristmill.domain.errors import ConfigError
from gristmill.plans.compile import compile_plan
from gristmill.plans.graph import SLOT_NONE, Graph, Node


@kept
class Verdict(Struct, frozen=True):
    allowed: bool


@cell("topics")
class Topics(Struct, frozen=True):
    names: tuple[str, ...] = ()


@kept
class Duplicates(Struct, frozen=True):
    contributions: tuple[Join, ...] = ()


@task
def judge(item: Item, *, policy: str) -> Verdict:
    return Verdict(policy in item.text)


@task
def decide(text: Verdict, author: Verdict) -> Topics:
    return Topics()


@task
def read(item: Item, verdict: Verdict) -> Topics:
    return Topics()


@task
def keep(item: Item) -> Skip | None: ...


@task
def dedupe(item: Item) -> Duplicates:
    return Duplicates()


@task
def store(topics: Topics | None, verdict: Verdict | None) -> None: ...


def graph_of(*tasks: Any) -> Graph:
    return compile_plan(Plan("p", tasks=list(tasks)))


def node(graph: Graph, name: str) -> Node:
    return next(node for node in graph.nodes if node.name == name)


def filled_by(graph: Graph, name: str) -> list[str]:
    """Names of the tasks whose results fill the arguments of one task."""
    by_slot = {other.result_slot: other.name for other in graph.nodes}
    return [by_slot[slot] for slot in node(graph, name).arguments if slot in by_slot]


def test_one_operator_stands_twice_in_a_plan_and_bind_tells_them_apart() -> None:
    by_text, by_author = judge.use(name="by-text", policy="text"), judge.use(name="by-author", policy="author")
    graph = graph_of(by_author, by_text, decide.use(bind={"text": by_text, "author": "by-author"}))
    assert filled_by(graph, "decide") == ["by-text", "by-author"]
    assert [(one.name, one.config["policy"]) for one in graph.nodes[:2]] == [
        ("by-author", "author"),
        ("by-text", "text"),
    ]


def test_two_producers_of_one_type_are_refused_without_bind() -> None:
    with pytest.raises(ConfigError) as caught:
        graph_of(judge.use(policy="x"), judge.use(name="second", policy="y"), read)
    assert str(caught.value) == (
        "parameter 'verdict' of task 'read' in plan 'p': several tasks give Verdict: 'judge, second' "
        "(choose one: read.use(bind={'verdict': 'judge'}))"
    )


def test_two_producers_of_one_type_are_told_apart_by_bind() -> None:
    graph = graph_of(judge.use(policy="x"), judge.use(name="second", policy="y"), read.use(bind={"verdict": "second"}))
    assert filled_by(graph, "read") == ["second"]
    assert node(graph, "judge").successors == ()


def test_the_same_operators_stand_in_either_order_in_two_plans() -> None:
    filtered_first = graph_of(dedupe.use(after=[keep]), keep)
    deduped_first = graph_of(keep.use(after=[dedupe]), dedupe)
    assert [one.name for one in filtered_first.nodes] == ["keep", "dedupe"]
    assert [one.name for one in deduped_first.nodes] == ["dedupe", "keep"]
    assert (node(filtered_first, "dedupe").after, node(filtered_first, "keep").after) == ((0,), ())
    assert (node(deduped_first, "keep").after, node(deduped_first, "dedupe").after) == ((0,), ())


def test_a_sink_with_only_optional_inputs_stays_behind_its_gate() -> None:
    graph = graph_of(store.use(after=[keep]), read, judge.use(policy="x"), keep)
    sink = node(graph, "store")
    assert (sink.requires, len(sink.prefers), sink.after) == ((), 2, (node(graph, "keep").index,))
    assert sink.index in node(graph, "keep").successors


def test_a_forgotten_producer_of_an_optional_result_is_refused_unless_it_is_declared_absent() -> None:
    with pytest.raises(ConfigError) as caught:
        graph_of(store, judge.use(policy="x"))
    assert "no other task gives: 'Topics' (place a task that gives it, or say absent=[Topics]; given" in str(
        caught.value
    )
    graph = graph_of(store.use(absent=[Topics]), judge.use(policy="x"))
    assert node(graph, "store").arguments == (SLOT_NONE, node(graph, "judge").result_slot)
