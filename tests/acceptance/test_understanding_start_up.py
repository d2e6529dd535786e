"""What start-up refuses, and what it says. Numbers are those of the acceptance checks for understanding flows."""

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest
from msgspec import Struct

from gristmill import Embedder, Flow, Generator, Item, Plan, Role, kept, task
from gristmill.domain.errors import ConfigError
from gristmill.plans.registry import Registry, build_registry
from gristmill.runtime.composition.resources import Provider, refuse_missing


@kept
class Vector(Struct, frozen=True):
    values: tuple[float, ...] = ()


@task
def look(item: Item) -> None: ...


@task
async def embed(item: Item, model: Annotated[Embedder, Role("multimodal")]) -> Vector:
    return Vector()


def plan(key: str, *tasks: Any) -> Plan:
    return Plan(key, tasks=list(tasks) or [look])


def generator(kind: str, **given: Any) -> Generator:
    return Generator(**{"type": kind, "topic": "posts", "plans": ("upa",), **given})


def start(*flows: Flow, **options: Any) -> Registry:
    """Do what every process does before it takes its first record; this installation has a model for texts only."""
    registry = build_registry(flows, **options)
    refuse_missing(registry, (Provider(Embedder, frozenset({"text"}), lambda around: object()),))
    return registry


def refusal(*flows: Flow, **options: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        start(*flows, **options)
    return str(caught.value)


upa = Flow("upa", plans=[plan("upa")], generators=[generator("upa_stream")])
mm_emb = Flow("mm_emb", plans=[plan("mm_emb_v5", embed)])


def test_AC_UN_006_two_plans_with_one_key_keep_it_from_starting() -> None:
    said = refusal(Flow("one", plans=[plan("dup")]), Flow("two", plans=[plan("dup")]))
    assert "dup" in said
    assert "'one' and 'two'" in said


def test_AC_UN_007_a_generator_of_an_unknown_plan_is_named_with_the_key() -> None:
    said = refusal(Flow("upa", plans=[plan("upa")], generators=[generator("upa_stream", plans=("nope",))]))
    assert said == "plan key of generator 'upa_stream': 'nope' (known: upa)"


def test_AC_UN_008_an_unknown_generator_type_lists_the_registered_ones() -> None:
    said = refusal(upa, types=["upa_stream", "ghost"])
    assert said == "no flow registers generator type: 'ghost' (known: upa_stream)"


@pytest.fixture
def stray(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A module that somebody put into the plans package, which is made to look there as well."""
    (tmp_path / "house_rules.py").write_text("", encoding="utf-8")
    package = importlib.import_module("gristmill.plans")
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
    yield "house_rules"
    importlib.invalidate_caches()


def test_AC_UN_009_a_stray_module_in_the_plans_package_is_named(stray: str) -> None:
    said = refusal(upa)
    assert f"stray module in a framework room: 'gristmill.plans.{stray}'" in said
    assert "move it into a flow package" in said


def test_AC_UN_010_registering_a_plain_class_is_a_type_error() -> None:
    class Plain:
        pass

    for field in ("plans", "generators", "services"):
        given: dict[str, Any] = {field: [Plain]}
        with pytest.raises(TypeError, match=f"flow 'upa': {field} hold .*Plain"):
            Flow("upa", **given)


def test_AC_UN_011_a_cycle_is_printed() -> None:
    said = refusal(Flow("upa", plans=[plan("upa", look.use(name="a", after=["b"]), look.use(name="b", after=["a"]))]))
    assert "plan 'upa' has a cycle: " in said
    assert "a -> b -> a" in said or "b -> a -> b" in said
    assert "'a' is placed after 'b'" in said
    assert "'b' is placed after 'a'" in said


def test_AC_UN_012_only_enabled_flows_need_their_models() -> None:
    assert list(start(upa, mm_emb, enabled=["upa"]).plans) == ["upa"]
    said = refusal(upa, mm_emb, enabled=["upa", "mm_emb"])
    assert "plan 'mm_emb_v5' needs Embedder 'multimodal'" in said
    assert "roles that are played: text" in said


@pytest.mark.parametrize("weight", [0, -1.0, float("nan")])
def test_AC_UN_017_a_weight_that_is_not_above_zero_keeps_it_from_starting(weight: float) -> None:
    flow = Flow("upa", plans=[plan("upa")], generators=[generator("upa_stream", weight=weight)])
    assert f"weight of generator 'upa_stream': {weight} (use a number above 0)" in refusal(flow)


def test_AC_UN_017_no_generator_at_all_keeps_it_from_starting() -> None:
    said = refusal(upa, types=[])
    assert said == "configuration asks for no generator (without one there is nothing to do; known: upa_stream)"


def test_AC_UN_018_the_plans_of_a_generator_cannot_be_changed_by_one_of_its_records() -> None:
    feed = start(upa).generators["upa_stream"]
    with pytest.raises(AttributeError, match="immutable"):
        feed.plans = ()  # type: ignore[misc]
    assert isinstance(feed.plans, tuple)


def test_AC_UN_018_a_list_given_as_plans_is_copied() -> None:
    keys: Any = ["upa"]
    feed = generator("upa_stream", plans=keys)
    keys.append("other")
    assert feed.plans == ("upa",)
