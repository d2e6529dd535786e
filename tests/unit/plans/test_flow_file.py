"""A flow can be one file that nobody has installed."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gristmill.domain.errors import ConfigError
from gristmill.plans.registry import build_registry, load_flow_file

GATE = """
from __future__ import annotations
from msgspec import Struct
from gristmill import Flow, Item, Plan, kept, task

@kept
class Seen(Struct, frozen=True):
    parts: tuple[Part, ...] = ()

@task
def look(item: Item) -> Seen:
    return Seen()
""".replace("@kept", "class Part(Struct, frozen=True):\n    n: int\n\n@kept")

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Iterator[Write]:
    """Writes a flow file, and forgets afterwards what loading it left behind."""
    path, modules = list(sys.path), set(sys.modules)

    def write_file(text: str, name: str = "hello.py") -> Path:
        file = tmp_path / name
        file.write_text(text, encoding="utf-8")
        return file

    yield write_file
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if name.startswith(("gristmill_flow_file_", "beside_")):
            del sys.modules[name]


def refusal(path: Path) -> str:
    with pytest.raises(ConfigError) as caught:
        load_flow_file(path)
    return str(caught.value)


def test_loose_plans_become_a_flow_named_after_the_file(write: Write) -> None:
    path = write(GATE + "one = Plan('one', tasks=[look])\nagain = one\ntwo = Plan('two', tasks=[look])\n")
    (flow,) = load_flow_file(path)
    assert (flow.name, [plan.key for plan in flow.plans]) == ("hello", ["one", "two"])
    assert list(build_registry([flow]).plans) == ["one", "two"]


def test_the_flows_of_a_file_are_taken_as_they_are(write: Write) -> None:
    path = write(GATE + "plan = Plan('one', tasks=[look])\nflow = Flow('mine', plans=[plan], writes='on')\n")
    assert [(flow.name, flow.writes) for flow in load_flow_file(path)] == [("mine", "on")]


def test_a_plan_that_the_flow_of_its_file_leaves_out_is_not_lost_silently(write: Write) -> None:
    path = write(GATE + "plan = Plan('one', tasks=[look])\nflow = Flow('mine', plans=[])\n")
    assert "plan 'one' in" in refusal(path)
    assert "stands beside a Flow that leaves it out (add it to Flow('mine', plans=[...]))" in refusal(path)


def test_a_file_may_have_the_name_of_a_module_and_odd_characters(write: Write) -> None:
    text = GATE + "plan = Plan('one', tasks=[look])\n"
    (flow,) = load_flow_file(write(text, "json.py"))
    assert (flow.name, sys.modules["json"]) == ("json", json)
    (flow,) = load_flow_file(write(text, "my first flow.v2.py"))
    assert flow.name == "my_first_flow.v2"


def test_modules_beside_the_file_can_be_imported(write: Write) -> None:
    write("KEY = 'from-beside'\n", "beside_hello.py")
    (flow,) = load_flow_file(write(GATE + "from beside_hello import KEY\nplan = Plan(KEY, tasks=[look])\n"))
    assert flow.plans[0].key == "from-beside"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1\n", "flow file holds neither a Flow nor a Plan"),
        ("def f(:\n", "does not import (SyntaxError"),
        ("import nowhere_at_all\n", "hello.py, line 1, does not import (ModuleNotFoundError: No module named"),
        ("raise SystemExit(3)\n", "hello.py, line 1, does not import (SystemExit: 3)"),
        (
            GATE + "plan = Plan('one', tasks=[look.use(x=1)])\n",
            "does not import (UsageError: task 'look' has no config",
        ),
    ],
)
def test_a_file_that_is_no_flow_is_refused_with_its_line(write: Write, text: str, said: str) -> None:
    assert said in refusal(write(text))


def test_a_relative_path_and_a_link_still_lead_to_the_line(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "link.py").symlink_to(write("\nimport nowhere_at_all\n"))
    monkeypatch.chdir(tmp_path)
    assert "flow file hello.py, line 2, does not import" in refusal(Path("hello.py"))
    assert "flow file link.py, line 2, does not import" in refusal(Path("link.py"))


def test_a_file_that_is_not_there_or_not_python_is_refused(write: Write, tmp_path: Path) -> None:
    assert "flow file does not exist" in refusal(tmp_path / "nowhere.py")
    assert "flow file does not exist" in refusal(tmp_path)
    assert "flow file is not a Python file" in refusal(write("key: one\n", "flow.yaml"))
