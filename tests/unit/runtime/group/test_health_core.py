"""What serves and what does not."""

from gristmill.domain.front.health import ServiceHealth
from gristmill.runtime.group.health_core import ChildState, Vitals, decide_health

WELL = Vitals(in_flight=0, result_age_ms=0, generators_up={"g": True, "h": True})
CHILDREN = (ChildState("dispatcher", "dispatcher"), ChildState("engine-1", "engine"), ChildState("engine-2", "engine"))
FLOWS = {"news": ["g"], "sport": ["h"]}


def decide(
    children: tuple[ChildState, ...] = CHILDREN, dispatcher: Vitals | None = WELL, *, is_stopping: bool = False
) -> dict[str, tuple[str, ...]]:
    found = decide_health(children, dispatcher, flows=FLOWS, task_timeout_ms=1_000, is_stopping=is_stopping)
    assert [service.name for service in found] == ["", "dispatcher", "engine", "news", "sport"]
    return {service.name: service.reasons for service in found}


def test_all_serve_when_all_is_well() -> None:
    assert set(decide().values()) == {()}
    assert ServiceHealth("").is_serving
    assert not ServiceHealth("", ("no",)).is_serving


def test_one_dead_engine_of_two_is_told() -> None:
    dead = (CHILDREN[0], CHILDREN[1], ChildState("engine-2", "engine", "is dead"))
    health = decide(dead)
    assert health[""] == health["engine"] == health["news"] == ("engine-2 is dead",)
    assert health["dispatcher"] == ()


def test_a_dispatcher_that_is_dead_or_silent_takes_its_flows_with_it() -> None:
    dead = (ChildState("dispatcher", "dispatcher", "is dead"), *CHILDREN[1:])
    assert decide(dead, None)["dispatcher"] == ("dispatcher is dead",)
    silent = decide(CHILDREN, None)
    assert silent[""] == ("dispatcher does not answer",)
    assert silent["news"] == ("generator g is down",)


def test_a_flow_serves_while_its_generator_is_up_and_the_group_while_any_is() -> None:
    health = decide(dispatcher=Vitals(0, 0, {"g": True, "h": False}))
    assert (health[""], health["news"], health["sport"]) == ((), (), ("generator h is down",))
    assert decide(dispatcher=Vitals(0, 0, {"g": False, "h": False}))[""] == ("no generator is up",)


def test_no_result_for_longer_than_a_run_may_take_is_told() -> None:
    assert decide(dispatcher=Vitals(2, 1_000, WELL.generators_up))[""] == ()
    stuck = decide(dispatcher=Vitals(2, 5_000, WELL.generators_up))
    assert stuck["engine"] == ("2 records are under way, but no result came for 5 s",)
    assert decide(dispatcher=Vitals(0, 5_000, WELL.generators_up))[""] == ()


def test_a_stopping_group_does_not_serve() -> None:
    assert decide(is_stopping=True)[""] == ("the group is stopping",)
