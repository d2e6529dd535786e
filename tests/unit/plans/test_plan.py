"""Plans and flows refuse what is not theirs at the line where it is written."""

from typing import Any

import pytest

from gristmill import Flow, Generator, Item, Plan
from gristmill.domain.errors import ConfigError, UsageError
from tests.unit.plans import samples


def undecorated(item: Item) -> None: ...


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"key": ""}, "plan key: '' (use a text of 1 to 120 characters)"),
        ({"key": "two words"}, "plan key: 'two words' (' ' cannot stand in a name; use letters, digits and _ - . :)"),
        ({"key": "nul\0"}, "plan key: 'nul\\x00'"),
        ({"key": 3}, "plan key: 3"),
        ({"version": "2"}, "version of plan 'p': '2' (use a whole number from 1)"),
        ({"version": True}, "version of plan 'p': True"),
        ({"version": 0}, "version of plan 'p': 0"),
        ({"tasks": samples.gate}, "tasks of plan 'p': <task gate revision 1> (give a list: tasks=[...])"),
        ({"tasks": [undecorated]}, "hold what is not a task: 'undecorated' (decorate it with @task)"),
        ({"tasks": ["gate"]}, "hold what is not a task: 'gate' (list tasks, or what their use(...) gave)"),
        ({"tasks": [samples.policy]}, "task 'policy' needs a value for: 'forbidden' (policy.use(forbidden=...))"),
    ],
)
def test_a_plan_that_cannot_work_is_refused_with_a_way_out(given: dict[str, Any], said: str) -> None:
    arguments: dict[str, Any] = {"key": "p", "tasks": [samples.gate], **given}
    with pytest.raises(UsageError) as caught:
        Plan(arguments.pop("key"), **arguments)
    assert said in str(caught.value)


@pytest.mark.parametrize("key", ["screen", "safety_ptos", "mm_emb_v8_2", "news-2", "team.news", "审核"])
def test_plan_keys_may_hold_letters_digits_and_joints(key: str) -> None:
    assert repr(Plan(key, version=2, tasks=[samples.gate])) == f"<plan {key} version 2>"


def test_a_flow_takes_plans_generators_and_services() -> None:
    class Service:
        def build(self) -> None: ...

    plan, generator = Plan("p", tasks=[samples.gate]), Generator(type="g", topic="t", plans=("p",))
    flow = Flow("f", plans=[plan, plan], generators=[generator], services=[Service()], writes="on")
    assert (flow.plans, flow.generators, len(flow.services), flow.writes) == ((plan,), (generator,), 1, "on")
    assert repr(flow) == "<flow f>"


@pytest.mark.parametrize("field", ["plans", "generators", "services"])
def test_a_flow_refuses_entries_of_another_kind(field: str) -> None:
    given: Any = {field: [3]}
    with pytest.raises(TypeError, match=f"flow 'f': {field} hold .* not 3"):
        Flow("f", **given)


def test_a_flow_takes_lists() -> None:
    given: Any = Plan("p", tasks=[samples.gate])
    with pytest.raises(TypeError, match="flow 'f': plans is a list of Plan objects, not <plan p version 1>"):
        Flow("f", plans=given)


def test_what_a_flow_may_write_is_one_of_three() -> None:
    given: Any = "maybe"
    with pytest.raises(ConfigError, match="writes of flow 'f': 'maybe'"):
        Flow("f", writes=given)
