"""Process model, shutdown, configuration and installed flows (understanding, sections 2, 3 and 18)."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.commands import (
    SLOW_FLOW,
    is_gone,
    open_records,
    put,
    read_lines,
    run,
    serves,
    started,
    wait_until,
    write,
)

NEEDY_PACKAGE = '''
"""Two flows: one that needs nothing, one that needs an embedder which this installation does not have."""
from typing import Annotated

from gristmill import Embedder, Flow, Generator, Item, Plan, Role, task


@task
def upa_like(item: Item) -> None: ...


@task
def mm_like(item: Item, embedder: Annotated[Embedder, Role("multimodal")]) -> None: ...


upa = Flow(
    "upa",
    plans=[Plan("upa_plan", tasks=[upa_like])],
    generators=[Generator(type="upa", topic="upa", plans=("upa_plan",))],
)
mm_emb = Flow(
    "mm_emb",
    plans=[Plan("mm_plan", tasks=[mm_like])],
    generators=[Generator(type="mm", topic="mm", plans=("mm_plan",))],
)
'''

INSTALLED_PACKAGE = '''
"""A package of somebody else: one plan, one task, one generator."""
import msgspec

from gristmill import Flow, Generator, Item, Plan, cell, task


@cell("length")
class Length(msgspec.Struct, frozen=True):
    characters: int


@task
def length(item: Item) -> Length:
    return Length(len(item.text))


flow = Flow(
    "lengths",
    plans=[Plan("lengths", tasks=[length])],
    generators=[Generator(type="lengths", topic="posts", plans=("lengths",))],
)
'''


@pytest.fixture
def slow(tmp_path: Path) -> Path:
    return write(tmp_path / "slow_flow.py", SLOW_FLOW)


def starts(flow: Path) -> list[str]:
    """Input ids of the records that the slow flow has begun, in order, one entry a start."""
    path = flow.with_name("starts")
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def install(folder: Path, name: str, source: str, entries: dict[str, str]) -> dict[str, str]:
    """Put a package with entry points where Python finds it; return the environment that does."""
    folder.mkdir()
    write(folder / f"{name}.py", source)
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    write(info / "METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = [f"{flow} = {name}:{attribute}" for flow, attribute in entries.items()]
    write(info / "entry_points.txt", "[gristmill.flows]\n" + "\n".join(lines) + "\n")
    return {"PYTHONPATH": str(folder)}


def test_AC_UN_002_a_flow_that_fails_validation_ends_the_start_with_its_message(tmp_path: Path) -> None:
    flow = write(tmp_path / "bad.py", SLOW_FLOW.replace('plans=("slow",))]', 'plans=("nope",))]'))
    with started("up", "--flow", flow, "--state", tmp_path / "state") as process:
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 2
        assert b"generator 'slow'" in errors
        assert b"nope" in errors
        assert is_gone(process.pid)


def test_AC_UN_002_a_child_that_cannot_start_ends_the_start_with_its_message(tmp_path: Path) -> None:
    only_main = 'import sys\nif "engine" in sys.argv:\n    raise RuntimeError("not in this process")\n'
    flow = write(tmp_path / "bad.py", only_main + SLOW_FLOW)
    with started("up", "--flow", flow, "--state", tmp_path / "state") as process:
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 2
        assert b"RuntimeError: not in this process" in errors
        assert is_gone(process.pid)


async def test_AC_UN_003_what_is_under_way_is_finished_and_nothing_more_is_taken(tmp_path: Path, slow: Path) -> None:
    state = tmp_path / "state"
    env = {"GRISTMILL_DISPATCHER__MAX_IN_FLIGHT": "3", "GRISTMILL_MAIN__SHUTDOWN_DRAIN_TIMEOUT_S": "300"}
    await put(state, "slow", ["2"] * 5)
    with started("up", "--flow", slow, "--state", state, env=env) as process:
        wait_until(lambda: len(starts(slow)) == 3, "three records under way")
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=6)
        assert process.returncode == 0
    assert len(starts(slow)) == 3
    assert await open_records(state, "slow") == 2


async def test_AC_UN_004_what_outlasts_the_grace_is_delivered_again(tmp_path: Path, slow: Path) -> None:
    state = tmp_path / "state"
    env = {
        "GRISTMILL_MAIN__SHUTDOWN_DRAIN_TIMEOUT_S": "2",
        "GRISTMILL_DISPATCHER__GRACE_S": "2",
        "GRISTMILL_ENGINE__GRACE_S": "2",
    }
    await put(state, "slow", ["60"])
    with started("up", "--flow", slow, "--state", state, env=env) as process:
        wait_until(lambda: len(starts(slow)) == 1, "the record under way")
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=8)
        assert process.returncode == 0
    assert await open_records(state, "slow") == 1
    with started("up", "--flow", slow, "--state", state, env=env):
        wait_until(lambda: starts(slow) == ["r0", "r0"], "the same record again")


async def test_AC_UN_005_a_killed_engine_shows_in_health_and_its_records_run_again(tmp_path: Path, slow: Path) -> None:
    state = tmp_path / "state"
    await put(state, "slow", ["3", "3"])
    with started("up", "--flow", slow, "--state", state) as process:
        wait_until(lambda: serves(state), "serving")
        wait_until(lambda: len(starts(slow)) == 2, "two records under way")
        os.kill(engine_of(process.pid), signal.SIGKILL)
        wait_until(lambda: not serves(state), "not serving", timeout_s=2)
        wait_until(lambda: serves(state), "serving again")
        wait_until(lambda: sorted(starts(slow)) == ["r0", "r0", "r1", "r1"], "both records again")


def test_AC_UN_012_only_the_needs_of_enabled_flows_have_to_be_filled(tmp_path: Path) -> None:
    env = install(tmp_path / "site", "needy", NEEDY_PACKAGE, {"upa": "upa", "mm_emb": "mm_emb"})
    state = tmp_path / "state"
    with started("up", "--state", state, env={**env, "GRISTMILL_FLOWS__ENABLED": "upa"}) as process:
        wait_until(lambda: serves(state), "serving")
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
    refused = run("up", "--state", state, env={**env, "GRISTMILL_FLOWS__ENABLED": "upa,mm_emb"})
    assert refused.returncode == 2
    assert "plan 'mm_plan' needs Embedder 'multimodal'" in refused.stderr


def test_AC_UN_089_an_empty_configuration_has_the_published_defaults(tmp_path: Path) -> None:
    shown = run("config", "show", "--config", write(tmp_path / "empty.toml", ""))
    assert shown.returncode == 0, shown.stderr
    lines = shown.stdout.splitlines()
    for line in (
        "max_in_flight = 3",
        "task_timeout_s = 900",
        "shutdown_drain_timeout_s = 300",
        "gc_interval_s = 28800",
        "gc_jitter_s = 900",
        'process_model = "split"',
    ):
        assert line in lines
    assert lines.count("grace_s = 120") == 2


async def test_AC_UN_089_an_empty_configuration_starts(tmp_path: Path, slow: Path) -> None:
    state = tmp_path / "state"
    await put(state, "slow", ["0"])
    options = ["--config", write(tmp_path / "empty.toml", ""), "--flow", slow, "--state", state]
    with started("up", *options):
        wait_until(lambda: starts(slow), "a record under way")


def test_AC_UN_090_an_unknown_key_keeps_it_from_starting(tmp_path: Path, slow: Path) -> None:
    config = write(tmp_path / "gristmill.toml", "[dispatcher]\nmax_inflight = 5\n")
    refused = run("up", "--config", config, "--flow", slow, "--state", tmp_path / "state")
    assert refused.returncode == 2
    assert "'dispatcher.max_inflight'" in refused.stderr
    assert "did you mean 'dispatcher.max_in_flight'" in refused.stderr


async def test_AC_UN_096_an_installed_package_is_listed_and_executed(tmp_path: Path) -> None:
    env = install(tmp_path / "site", "lengthy", INSTALLED_PACKAGE, {"lengths": "flow"})
    listed = json.loads(run("flows", "list", "--json", env=env).stdout)
    assert "lengths" in listed["plans"]
    assert "lengths" in listed["generators"]

    path, output = write(tmp_path / "in.jsonl", '{"id":"a","text":"four"}\n'), tmp_path / "out.jsonl"
    ended = run("run", "--input", path, "--plan", "lengths", "--output", output, "--state", tmp_path / "s1", env=env)
    assert ended.returncode == 0, ended.stderr
    found: dict[str, Any] = read_lines(output)[0]
    assert found["fields"] == {"length": {"characters": 4}}

    state = tmp_path / "s2"
    await put(state, "posts", ["four"])
    with started("up", "--state", state, env={**env, "GRISTMILL_FLOWS__ENABLED": "lengths"}):
        wait_until(lambda: '"characters":4' in run("show", "r0", "--state", state).stdout, "the item stored")


def engine_of(main: int) -> int:
    """Return the process id of an engine of a group."""
    children = Path(f"/proc/{main}/task/{main}/children").read_text(encoding="utf-8").split()
    return next(int(pid) for pid in children if b"\0engine\0" in Path(f"/proc/{pid}/cmdline").read_bytes())
