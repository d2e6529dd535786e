"""The marking agrees with a naive model that reads the rules off the graph again after every event."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.engine.core.layout import Layout
from gristmill.engine.core.marking import Marking, NodeState, Verdict
from tests.graphs import ON_ERRORS, build_graph, build_node

NODES_MAX = 9
KINDS = ("requires", "prefers", "after", "after_any")
EDGES: tuple[tuple[str, ...], ...] = (
    *((), (), (), ()),
    *(("requires",), ("prefers",), ("after",), ("after_any",)),
    *(("requires", "after_any"), ("prefers", "after")),
)
ANSWERS = ("done", "done", "done", "skip", "rejected", "closed", "error", "error")


@dataclass
class Naive:
    """States of all nodes by the rules themselves: no counters, no order of work, every node looked at every time."""

    nodes: list[dict[str, frozenset[int]]]
    on_errors: list[str]
    finally_: list[bool]
    states: list[NodeState] = field(default_factory=list)
    failures: list[int] = field(default_factory=list)
    end: str | None = None

    def __post_init__(self) -> None:
        self.states = ["waiting"] * len(self.nodes)

    def settle(self) -> set[int]:
        """Bring every node that can move to where it belongs; return those that must be called."""
        asked: set[int] = set()
        moved = not self.failures
        while moved:
            moved = False
            for index, state in enumerate(self.states):
                if state == "waiting" and self.are_predecessors_over(index):
                    self.states[index] = self.decide(index)
                    moved = True
                    if self.states[index] == "running":
                        asked.add(index)
        return asked

    def are_predecessors_over(self, index: int) -> bool:
        predecessors = frozenset().union(*self.nodes[index].values())
        return all(self.states[one] not in ("waiting", "running") for one in predecessors)

    def decide(self, index: int) -> NodeState:
        edges, states = self.nodes[index], self.states
        gated_by_after = any(states[one] in ("skipped", "bypassed", "skipped_by_gate") for one in edges["after"])
        gated_by_data = any(states[one] == "skipped_by_gate" for one in edges["requires"] | edges["prefers"])
        if gated_by_after or gated_by_data:
            return "skipped_by_gate"
        if any(states[one] != "done" for one in edges["requires"]):
            return "skipped"
        return "running"

    def answer(self, index: int, answer: str) -> None:
        match answer, self.on_errors[index]:
            case "done", _:
                self.states[index] = "done"
            case "skip", _:
                self.states[index] = "skipped"
            case (("rejected" | "closed"), _):
                self.close(index, "ended", answer)
            case _, "skip":
                self.states[index] = "bypassed"
            case _, "fail_open":
                self.states[index] = "failed_open"
            case _, ("fail_closed" | "fail_closed:held") as on_error:
                self.close(index, "failed", on_error.partition(":")[2] or "rejected")
            case _:
                self.states[index] = "failed"
                if self.end is None or self.finally_[index]:
                    self.failures.append(index)

    def close(self, index: int, node_state: NodeState, state: str) -> None:
        self.states[index] = node_state
        if self.end is not None or self.failures:
            return
        self.end = state
        for other, other_state in enumerate(self.states):
            if other_state == "waiting" and not self.finally_[other]:
                self.states[other] = "dropped"

    def wants(self, index: int) -> bool:
        return not self.failures and (self.end is None or self.finally_[index])

    def status(self) -> str:
        if self.failures:
            return "failed"
        if self.end is not None:
            return "rejected" if self.end == "rejected" else "done"
        return "done" if "done" in self.states else "skipped"


@st.composite
def edge_lists(draw: st.DrawFn, count: int) -> list[dict[str, frozenset[int]]]:
    """For each node its predecessors by kind of edge; one draw for each pair of nodes, most of them without an edge."""
    drawn = iter(draw(st.lists(st.sampled_from(EDGES), min_size=count * count // 2, max_size=count * count // 2)))
    nodes: list[dict[str, frozenset[int]]] = []
    for index in range(count):
        kinds_to = {earlier: next(drawn) for earlier in range(index)}
        nodes.append({kind: frozenset(one for one, kinds in kinds_to.items() if kind in kinds) for kind in KINDS})
    return nodes


@settings(max_examples=300)
@given(data=st.data(), count=st.integers(1, NODES_MAX))
def test_the_marking_agrees_with_a_naive_model(data: st.DataObject, count: int) -> None:
    naive, marking = draw_pair(data, count)
    turns = data.draw(st.lists(st.integers(0, NODES_MAX), min_size=count, max_size=count), "whose turn")
    answers = data.draw(st.lists(st.sampled_from(ANSWERS), min_size=count, max_size=count), "answers by node")
    withdrawn = data.draw(st.lists(st.booleans(), min_size=count, max_size=count), "not called once unwanted")
    running = marking.start()
    assert set(running) == naive.settle()
    while running:
        index = running.pop(turns.pop() % len(running))
        if withdrawn[index] and not marking.wants(index):
            ready = marking.on_withdrawn(index)
            naive.states[index] = "dropped"
        else:
            ready = tell(marking, index, answers[index])
            naive.answer(index, answers[index])
        assert len(ready) == len(set(ready))
        assert set(ready) == naive.settle()
        assert marking.states == naive.states
        assert all(marking.wants(one) == naive.wants(one) for one in range(count))
        running += ready
    verdict = marking.verdict()
    assert verdict.status == naive.status()
    check_texts(marking, verdict, naive)


def draw_pair(data: st.DataObject, count: int) -> tuple[Naive, Marking]:
    nodes = data.draw(edge_lists(count), "edges")
    on_errors = data.draw(st.lists(st.sampled_from(ON_ERRORS), min_size=count, max_size=count), "on_error")
    finally_ = data.draw(st.lists(st.booleans(), min_size=count, max_size=count), "finally_")
    graph = build_graph(
        [
            build_node(index, finally_=finally_[index], on_error=on_errors[index], **nodes[index])
            for index in range(count)
        ]
    )
    return Naive(nodes, on_errors, finally_), Marking(Layout(graph))


def tell(marking: Marking, index: int, answer: str) -> list[int]:
    match answer:
        case "done":
            return marking.on_done(index)
        case "skip":
            return marking.on_skip(index, f"skip {index}")
        case "error":
            return marking.on_failed(index, f"ValueError: {index}", "ValueError")
    return marking.on_end(index, answer, f"end {index}")


def check_texts(marking: Marking, verdict: Verdict, naive: Naive) -> None:
    """Every failure that decided the Run is told, and whatever is not simply done says why."""
    assert [text for text in verdict.error.split("; ") if text] == [f"ValueError: {one}" for one in naive.failures]
    assert verdict.failed_task == (f"t{naive.failures[0]}" if naive.failures else "")
    for index in range(len(naive.nodes)):
        status = marking.status_of(index)
        assert (status in ("done", "not_started")) or marking.reason_of(index)
        assert status != "not_started" or not marking.reason_of(index)
