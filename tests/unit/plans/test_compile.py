"""A plan becomes one graph, or a message that names what is wrong with it."""

import time
from itertools import pairwise
from typing import Annotated, Any

import pytest
from msgspec import Struct

from gristmill import Embedder, Item, Plan, Role, Skip, cell, kept, task
from gristmill.domain.errors import ConfigError
from gristmill.plans.compile import compile_plan
from gristmill.plans.graph import FIRST_NODE_SLOT, SLOT_ITEM, SLOT_NONE, SLOT_SCOPE, Graph, Node
from tests.unit.plans import elsewhere, samples
from tests.unit.plans.samples import Language, Topics, Verdict, Words


@cell("topics")
class OtherTopics(Struct, frozen=True):
    pass


@kept
class Draft(Struct, frozen=True):
    text: str = ""


@task
def rival(item: Item) -> OtherTopics:
    return OtherTopics()


@task
def draft(item: Item) -> Draft:
    return Draft(item.text)


@task
def refine(item: Item, draft: Draft) -> Draft:
    return draft


@task
def near(item: Item, index: Annotated[Embedder, Role("semantic")]) -> None: ...


@task
def far(
    item: Item, index: Annotated[Embedder, Role("coarse")], same: Annotated[Embedder, Role("semantic")]
) -> None: ...


@task(name="item")
def called_item(item: Item) -> Language:
    return Language("en")


def graph_of(*tasks: Any, **options: Any) -> Graph:
    return compile_plan(Plan("p", tasks=list(tasks), **options))


def node(graph: Graph, name: str) -> Node:
    return next(node for node in graph.nodes if node.name == name)


def names(graph: Graph) -> list[str]:
    return [node.name for node in graph.nodes]


def refusal(*tasks: Any, **options: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        graph_of(*tasks, **options)
    return str(caught.value)


def test_data_edges_follow_from_types_and_fill_the_arguments() -> None:
    graph = graph_of(samples.topics, samples.words, samples.policy.use(forbidden="x"), samples.language)
    assert names(graph) == ["policy", "language", "words", "topics"]
    last = node(graph, "topics")
    assert last.arguments == (SLOT_ITEM, FIRST_NODE_SLOT + 0, FIRST_NODE_SLOT + 2)
    assert (last.requires, last.prefers, last.predecessor_count) == ((0,), (2,), 2)
    assert node(graph, "policy").successors == (3,)
    assert node(graph, "policy").config == {"forbidden": "x"}
    assert last.result_slot == FIRST_NODE_SLOT + 3


def test_order_edges_stand_apart_from_data() -> None:
    graph = graph_of(
        samples.words.use(after=[samples.gate, "gate"], after_any=["language"]), samples.language, samples.gate
    )
    words = node(graph, "words")
    assert (words.requires, words.after, words.after_any, words.predecessor_count) == ((0,), (1,), (0,), 2)
    assert node(graph, "language").successors == (2,)


def test_resources_stand_behind_the_results_once_each() -> None:
    graph = graph_of(near, far, samples.judged)
    assert [need.role for need in graph.needs] == ["semantic", "coarse", "safety"]
    semantic_slot, coarse_slot = FIRST_NODE_SLOT + 3, FIRST_NODE_SLOT + 4
    assert node(graph, "far").arguments == (SLOT_ITEM, coarse_slot, semantic_slot)
    assert node(graph, "judged").arguments[2:] == (semantic_slot, SLOT_SCOPE)


def test_a_task_called_item_is_a_task_like_any_other() -> None:
    graph = graph_of(samples.words, called_item)
    assert node(graph, "words").arguments == (SLOT_ITEM, FIRST_NODE_SLOT)


def test_a_task_that_refines_takes_the_result_of_another() -> None:
    graph = graph_of(refine, draft)
    assert names(graph) == ["draft", "refine"]
    twice = graph_of(draft, refine.use(name="once", bind={"draft": draft}), refine.use(bind={"draft": "once"}))
    assert names(twice) == ["draft", "once", "refine"]


def test_an_absent_result_is_none() -> None:
    graph = graph_of(samples.archive.use(absent=[Verdict]), samples.language)
    assert node(graph, "archive").arguments == (FIRST_NODE_SLOT, SLOT_NONE)


def test_tasks_at_the_end_are_marked() -> None:
    assert node(graph_of(samples.gate.use(finally_=True)), "gate").finally_


@pytest.mark.parametrize(
    ("tasks", "said"),
    [
        ([], "plan 'p' has no task (tasks=[...])"),
        (
            [samples.gate, samples.gate],
            "has two tasks of one name: 'gate' (give one of them another: gate.use(name='...'))",
        ),
        ([samples.gate.use(after=["gaet"])], "task 'gate' in plan 'p' refers to an unknown task: 'gaet' (did you mean"),
        (
            [samples.gate, samples.language.use(after=[samples.gate.use()])],
            "not in the plan: 'gate' (another placement of that name is; refer to it as 'gate')",
        ),
        (
            [samples.language.use(after=[samples.gate])],
            "refers to a task that is not in the plan: 'gate' (known: language)",
        ),
        (
            [samples.gate, samples.gate.use(name="again"), samples.language.use(after=[samples.gate])],
            "'gate' (it stands in the plan as gate, again; refer to one of them by name)",
        ),
        (
            [samples.words],
            "parameter 'lang' of task 'words' in plan 'p': no other task gives: 'Language' (place a task that gives "
            "it; given: Words)",
        ),
        (
            [samples.words, elsewhere.language],
            f"task 'language' gives {elsewhere.Language.__module__}.Language, not that of {Language.__module__}",
        ),
        (
            [samples.words.use(bind={"language": samples.language}), samples.language],
            "bind of task 'words' in plan 'p' names no parameter that takes a result: 'language' (did you mean 'lang'?",
        ),
        (
            [samples.words.use(bind={"lang": samples.gate}), samples.gate, samples.language],
            "is bound to a task that does not give Language: 'gate' (tasks that give it: language)",
        ),
        (
            [samples.archive.use(absent=[Verdict, Topics]), samples.language],
            "absent of task 'archive' in plan 'p': 'Topics' (drop it: no 'X | None' parameter takes it)",
        ),
        (
            [samples.archive.use(absent=[Verdict, Language]), samples.language],
            "absent of task 'archive' in plan 'p': 'Language' (drop it: task 'language' gives it)",
        ),
        (
            [samples.topics.use(bind={"verdict": "policy"}, absent=[Words]), samples.policy.use(forbidden="x"), rival],
            "tasks 'topics' and 'item' of plan 'p' give different results for one cell: 'topics'".replace(
                "item", "rival"
            ),
        ),
        ([refine], "parameter 'draft' of task 'refine' in plan 'p': no other task gives: 'Draft'"),
        (
            [samples.gate.use(after=["gate"])],
            "plan 'p' has a cycle: 'gate -> gate' (take one of these away: 'gate' is placed after 'gate')",
        ),
    ],
)
def test_a_plan_that_cannot_work_is_refused_with_a_way_out(tasks: list[Any], said: str) -> None:
    assert said in refusal(*tasks)


def test_a_cycle_is_printed_in_the_order_of_its_arrows_with_their_reasons() -> None:
    said = refusal(samples.gate.use(after=[samples.words]), samples.language.use(after=[samples.gate]), samples.words)
    arrows = {"gate -> language", "language -> words", "words -> gate"}
    cycle = said.split("'")[3].split(" -> ")
    assert {f"{first} -> {then}" for first, then in pairwise(cycle)} == arrows
    assert "'words' takes Language from 'language'" in said
    assert "'gate' is placed after 'words'" in said


@pytest.mark.parametrize(
    ("tasks", "options", "said"),
    [
        (
            [samples.gate],
            {"durable": True},
            "plan 'p' is durable (durable runs do not exist yet; declare durable=False)",
        ),
        (
            [task(on_error="hold")(rival.function)],
            {},
            "task 'rival' of plan 'p' may park its run (Park, on_error='park'",
        ),
        ([task(on_error="park")(rival.function)], {}, "task 'rival' of plan 'p' may park its run"),
    ],
)
def test_what_only_durable_plans_can_do_is_refused(tasks: list[Any], options: dict[str, Any], said: str) -> None:
    assert said in refusal(*tasks, **options)


def test_a_plan_of_a_thousand_tasks_compiles_in_no_time() -> None:
    @task
    def step(item: Item) -> Skip | None: ...

    first = step.use(name="t0")
    tasks = [first]
    for number in range(1, 1_000):
        tasks.append(step.use(name=f"t{number}", after=[tasks[-1], first], after_any=[f"t{number // 2}"]))
    plan = Plan("p", tasks=tasks)
    started = time.process_time()
    graph = compile_plan(plan)
    assert time.process_time() - started < 0.5
    assert names(graph) == [f"t{number}" for number in range(1_000)]
