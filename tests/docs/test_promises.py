"""The page of promises names tests and settings that exist, and leaves no promise out."""

import ast
import re
from pathlib import Path

from gristmill.runtime.settings import Settings

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/promises.md").read_text(encoding="utf-8")
PROMISES = range(1, 17)


def defined_tests() -> set[str]:
    """The names of all tests, those of the contract suites included."""
    return {
        node.name
        for folder in ("tests", "src/gristmill/testing/contracts")
        for file in (ROOT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    }


def test_every_test_that_is_named_exists() -> None:
    named = set(re.findall(r"`(test_\w+)`", PAGE))
    assert named
    assert named <= defined_tests(), sorted(named - defined_tests())


def test_each_promise_is_defended_by_a_test_or_said_not_to_be_built() -> None:
    table = re.findall(r"^\| P(\d+) \|.*$", PAGE, re.MULTILINE)
    rows = re.findall(r"^\| P\d+ \|.*$", PAGE, re.MULTILINE)
    assert all("`test_" in row for row in rows)
    not_built = re.findall(r"P(\d+)\s\(", PAGE)
    assert sorted(map(int, [*table, *not_built])) == list(PROMISES)


def test_every_setting_that_is_named_exists_with_its_value() -> None:
    named = re.findall(r"`(log|store)\.(\w+)(?: = (\S+?))?`", PAGE)
    assert {"synchronous", "ephemeral", "replicas"} <= {name for _, name, _ in named}
    for section, name, _ in named:
        assert hasattr(getattr(Settings(), section), name), f"{section}.{name}"
