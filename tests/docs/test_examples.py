"""Every example is small, loads as it stands, and says how to run it."""

import sys
from pathlib import Path

import pytest

from gristmill.plans.registry import build_registry, load_flow_file

ROOT = Path(__file__).parents[2]
LINES_MAX = 80


def flow_files() -> list[str]:
    return [str(path.relative_to(ROOT)) for path in sorted(ROOT.glob("examples/*/*.py"))]


@pytest.fixture(autouse=True)
def _forget_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading a flow file makes its folder importable; the next test must not lean on that."""
    monkeypatch.setattr(sys, "path", list(sys.path))


@pytest.mark.parametrize("name", flow_files())
def test_a_flow_file_of_the_examples_compiles(name: str) -> None:
    registry = build_registry(load_flow_file(ROOT / name))
    assert registry.plans


@pytest.mark.parametrize("name", flow_files())
def test_an_example_fits_on_a_screen_or_two(name: str) -> None:
    assert len((ROOT / name).read_text(encoding="utf-8").splitlines()) <= LINES_MAX


@pytest.mark.parametrize("name", flow_files())
def test_the_readme_of_an_example_has_its_command(name: str) -> None:
    folder = Path(name).parent
    readme = (ROOT / folder / "README.md").read_text(encoding="utf-8")
    assert f"gristmill run --flow {name} --input {folder}/posts.csv" in readme
    assert (ROOT / folder / "posts.csv").is_file()
