"""Flows are checked against each other before anything starts."""

from importlib.metadata import EntryPoint
from typing import Any

import pytest

from gristmill import Embedder, Flow, Generator, Plan
from gristmill.domain.errors import ConfigError
from gristmill.plans import registry
from gristmill.plans.registry import build_registry, discover_flows
from gristmill.plans.resources import Need
from gristmill.ports.models import LLM
from tests.unit.plans import samples

plan = Plan("p", tasks=[samples.gate])
feed = Generator(type="feed", topic="posts", plans=("p",))
flow = Flow("f", plans=[plan], generators=[feed], writes="on")


def refusal(*flows: Flow, **options: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        build_registry(flows, **options)
    return str(caught.value)


def test_a_registry_holds_compiled_plans_and_generators_by_name() -> None:
    built = build_registry([flow], types=["feed"])
    assert (built.plans["p"].flow, built.plans["p"].writes) == ("f", "on")
    assert built.plans["p"].graph.nodes[0].name == "gate"
    assert built.generators == {"feed": feed}
    assert built.warnings == ()


def test_a_plan_that_nothing_feeds_is_worth_a_warning() -> None:
    lonely = Flow("g", plans=[Plan("lonely", tasks=[samples.gate])])
    assert build_registry([flow, lonely]).warnings == ("plan 'lonely' is fed by no generator",)


def test_a_flow_that_is_found_twice_counts_once() -> None:
    assert build_registry([flow, flow]).flows == (flow,)


def test_only_enabled_flows_are_taken() -> None:
    other = Flow("other", plans=[Plan("q", tasks=[samples.gate])])
    assert list(build_registry([flow, other], enabled=["other"]).plans) == ["q"]
    assert refusal(flow, other, enabled=["othre"]) == "flows.enabled: 'othre' (did you mean 'other'? known: f, other)"


def generator(**given: Any) -> Flow:
    return Flow("g", plans=[plan], generators=[Generator(**{"type": "feed", "topic": "t", "plans": ("p",), **given})])


@pytest.mark.parametrize(
    ("flows", "said"),
    [
        ([flow, Flow("f")], "two flows have one name: 'f' (rename one of them)"),
        (
            [flow, Flow("g", plans=[Plan("p", tasks=[samples.gate])])],
            "plan key is used twice, in flow 'f' and 'g': 'p' (rename one of them)",
        ),
        (
            [Flow("f", plans=[Plan("p", tasks=[samples.gate]), Plan("p", tasks=[samples.gate])])],
            "plan key is used twice, in flow 'f': 'p'",
        ),
        ([generator(type="")], "generator of flow 'g' without a type: 't' (Generator(type=...))"),
        ([generator(type="two words")], "type of a generator: 'two words' (' ' cannot stand in a name"),
        ([generator(topic="")], "generator 'feed' has no topic"),
        ([generator(plans=())], "plans of generator 'feed': () (give a tuple of plan keys: plans=('key',))"),
        ([generator(plans="p")], "plans of generator 'feed': 'p' (give a tuple of plan keys: plans=('key',))"),
        ([generator(plans=("pp",))], "plan key of generator 'feed': 'pp' (did you mean 'p'? known: p)"),
        ([generator(weight=-1)], "weight of generator 'feed': -1 (use a number above 0)"),
        ([generator(weight=float("nan"))], "weight of generator 'feed': nan"),
        ([generator(weight=float("inf"))], "weight of generator 'feed': inf"),
        ([generator(weight="3")], "weight of generator 'feed': '3'"),
        ([generator(max_qps=0)], "max_qps of generator 'feed': 0 (use a number above 0, or None)"),
        ([generator(max_in_flight=0)], "max_in_flight of generator 'feed': 0"),
        (
            [flow, Flow("h", generators=[Generator(type="feed", topic="other", plans=("p",))])],
            "two generators have one type, the second in flow 'h': 'feed' (rename one of them)",
        ),
    ],
)
def test_flows_that_do_not_go_together_are_refused(flows: list[Flow], said: str) -> None:
    assert said in refusal(*flows)


def test_an_equal_generator_registered_twice_is_harmless() -> None:
    again = Flow("h", generators=[Generator(type="feed", topic="posts", plans=("p",))])
    assert list(build_registry([flow, again]).generators) == ["feed"]


def test_resources_are_asked_of_enabled_flows_alone() -> None:
    models = Flow("models", plans=[Plan("judging", tasks=[samples.judged])])
    needed = {Need(LLM, "safety"): "judging", Need(Embedder, "semantic"): "judging"}
    assert build_registry([flow, models]).needs() == needed
    assert build_registry([flow, models], enabled=["f"]).needs() == {}


def test_a_task_from_inside_a_framework_room_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples.gate.function, "__module__", "gristmill.plans.rules")
    said = "task 'gate' of flow 'f' lives in: 'gristmill.plans.rules' (framework rooms hold no business rule; move"
    assert said in refusal(flow)


class Installed:
    """Stands in for the installed packages."""

    def __init__(self, *values: str) -> None:
        self.entries = [EntryPoint(f"e{number}", value, "gristmill.flows") for number, value in enumerate(values)]

    def __call__(self, *, group: str) -> list[EntryPoint]:
        return [entry for entry in reversed(self.entries) if entry.group == group]


def install(monkeypatch: pytest.MonkeyPatch, *values: str) -> None:
    monkeypatch.setattr(registry, "entry_points", Installed(*values))


def test_installed_flows_are_found_in_order_of_their_entry_points(monkeypatch: pytest.MonkeyPatch) -> None:
    here = "tests.unit.plans.test_registry"
    install(monkeypatch, f"{here}:flow", f"{here}:twin", f"{here}:flow")
    assert [found.name for found in discover_flows()] == ["f", "f"]
    with pytest.raises(ConfigError, match="two flows have one name"):
        build_registry(discover_flows())


twin = Flow("f")
not_a_flow = 3


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (
            "tests.unit.plans.nowhere:flow",
            "flow 'e0' of 'tests.unit.plans.nowhere:flow' cannot be loaded (ModuleNotFound",
        ),
        ("tests.unit.plans.test_registry:nowhere", "cannot be loaded (AttributeError"),
        (
            "tests.unit.plans.test_registry:not_a_flow",
            "entry point 'e0' is not a Flow: 'tests.unit.plans.test_registry",
        ),
    ],
)
def test_an_entry_point_that_is_no_flow_is_named(monkeypatch: pytest.MonkeyPatch, value: str, said: str) -> None:
    install(monkeypatch, value)
    with pytest.raises(ConfigError) as caught:
        discover_flows()
    assert said in str(caught.value)
