"""Every Python block of README and docs runs as it stands.

The blocks of one page share a module, since a page is read from top to bottom. A block with the info string
`python no-run` is shown only.
"""

import re
import sys
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^```python[ \t]*(?P<notes>[^\n]*)\n(?P<code>.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)


class Snippet(NamedTuple):
    """A block, with as many empty lines in front as its page has, so that errors point to the page."""

    code: str
    notes: str


def read_snippets(page: Path) -> list[Snippet]:
    text = page.read_text(encoding="utf-8")
    return [
        Snippet("\n" * text.count("\n", 0, found.start("code")) + found["code"], found["notes"].strip())
        for found in FENCE.finditer(text)
    ]


def pages() -> list[Path]:
    return [page for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))] if page.is_file()]


def pages_with_code() -> list[str]:
    return [str(page.relative_to(ROOT)) for page in pages() if read_snippets(page)]


@pytest.mark.parametrize("name", pages_with_code())
def test_the_python_blocks_of_a_page_run(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    page = ROOT / name
    monkeypatch.chdir(tmp_path)
    module = ModuleType(f"snippets_of_{page.stem.replace('-', '_')}")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for snippet in read_snippets(page):
        if snippet.notes != "no-run":
            exec(compile(snippet.code, str(page), "exec", dont_inherit=True), vars(module))


def test_a_block_is_either_run_or_marked() -> None:
    odd = {snippet.notes for page in pages() for snippet in read_snippets(page)} - {"", "no-run"}
    assert not odd, "after ```python stands nothing or 'no-run'"


def test_the_reader_finds_blocks_with_their_lines(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A\n\n```python\nx = 1\n```\n\n```python no-run\ny\n```\n\n```\nplain\n```\n", encoding="utf-8")
    assert read_snippets(page) == [Snippet("\n\n\nx = 1\n", ""), Snippet("\n" * 7 + "y\n", "no-run")]
