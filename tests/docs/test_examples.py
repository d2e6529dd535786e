"""Every example is small, says how to run it, and gives what it says."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gristmill.plans.registry import build_registry, load_flow_file

ROOT = Path(__file__).parents[2]
LINES_MAX = 80


def flow_files() -> list[str]:
    """Examples that are flows have posts beside them."""
    found = sorted(ROOT.glob("examples/*/*.py"))
    return [str(path.relative_to(ROOT)) for path in found if (path.parent / "posts.csv").is_file()]


@pytest.fixture(autouse=True)
def _forget_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading a flow file makes its folder importable; the next test must not lean on that."""
    monkeypatch.setattr(sys, "path", list(sys.path))


@pytest.mark.parametrize("name", flow_files())
def test_a_flow_file_of_the_examples_compiles(name: str) -> None:
    registry = build_registry(load_flow_file(ROOT / name))
    assert registry.plans


@pytest.mark.parametrize("name", flow_files())
def test_an_example_gives_what_it_promises(name: str, tmp_path: Path) -> None:
    folder, output = ROOT / Path(name).parent, tmp_path / "out.jsonl"
    command = [sys.executable, "-m", "gristmill", "run", "--flow", name, "--input", str(folder / "posts.csv")]
    command += ["--state", str(tmp_path / "state"), "--output", str(output)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=90, check=False)
    assert ended.returncode == 0, ended.stderr
    assert without_item_ids(output) == without_item_ids(folder / "expected.jsonl")


def without_item_ids(path: Path) -> list[dict[str, Any]]:
    """The lines of an output; the ids in it are of the day on which it was made."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [{key: value for key, value in line.items() if key != "item_id"} for line in lines]


@pytest.mark.parametrize("name", flow_files())
def test_an_example_fits_on_a_screen_or_two(name: str) -> None:
    assert len((ROOT / name).read_text(encoding="utf-8").splitlines()) <= LINES_MAX


@pytest.mark.parametrize("name", flow_files())
def test_the_readme_of_an_example_has_its_command(name: str) -> None:
    folder = Path(name).parent
    readme = (ROOT / folder / "README.md").read_text(encoding="utf-8")
    assert f"gristmill run --flow {name} --input {folder}/posts.csv" in readme
    assert (ROOT / folder / "posts.csv").is_file()
