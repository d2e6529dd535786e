"""What is sent beside pages: files of others as they were taken, and nothing from elsewhere."""

import hashlib
import re
from collections.abc import Iterator
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

import pytest

from gristmill.api.console.rendering import build_environment, write_duration, write_moment, write_rate, write_said

STATIC = resources.files("gristmill.api.console") / "static"
TEMPLATES = resources.files("gristmill.api.console") / "templates"
AXE_4_14_1 = "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c"
"""`axe.min.js` of the package axe-core on npm, under the Mozilla Public License 2.0; only tests use it."""

ROW = re.compile(r"^\| (\S+) \| .* \| .*?(\S+\.LICENSE\.txt) \| ([0-9a-f]{64}) \|$", re.MULTILINE)


def test_files_of_others_are_as_they_were_taken_with_their_licence() -> None:
    folder = STATIC / "vendor"
    listed = ROW.findall((folder / "VENDORED.md").read_text(encoding="utf-8"))
    names = {one.name for one in folder.iterdir()}
    assert names == {"VENDORED.md", *(name for name, _, _ in listed), *(licence for _, licence, _ in listed)}
    for name, _, digest in listed:
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest, name


def test_the_accessibility_checker_of_the_tests_is_as_it_was_taken() -> None:
    folder = Path(__file__).parents[3] / "e2e" / "console"
    assert hashlib.sha256((folder / "axe.min.js").read_bytes()).hexdigest() == AXE_4_14_1
    assert (folder / "axe.LICENSE.txt").exists()


def test_no_page_asks_another_host_or_carries_script_or_style_of_its_own() -> None:
    sources = {one.name: one.read_text(encoding="utf-8") for one in walk(TEMPLATES) if one.name.endswith(".html")}
    for name, text in sources.items():
        assert not re.search(r"""(src|href|action)=["']?(https?:)?//""", text), name
        assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:|hx-on", text), name
        assert not re.search(r"<script(?![^>]*\ssrc=)", text), name
        assert "| safe" not in text, name
    own = (STATIC / "console.css").read_text(encoding="utf-8")
    assert "url(" not in own
    assert "@import" not in own


def test_every_template_is_sound() -> None:
    environment = build_environment("")
    for name in environment.list_templates():
        assert environment.get_template(name).name == name


def walk(folder: Traversable) -> Iterator[Traversable]:
    for one in folder.iterdir():
        yield from walk(one) if one.is_dir() else [one]


def test_steering_characters_are_shown_and_cannot_turn_the_page() -> None:
    shown = str(write_said("a\u202eb\x00c\r\nd<e>\ud800"))
    assert shown == (
        '<bdi dir="auto" class="said">a<span class="steering">U+202E</span>b<span class="steering">U+0000</span>'
        'c\r\nd&lt;e&gt;<span class="steering">U+D800</span></bdi>'
    )
    family = "👩\u200d👩\u200d👧"
    assert family in write_said(family)


@pytest.mark.parametrize(
    ("ms", "text"),
    [(0, "0 ms"), (999, "999 ms"), (1_000, "1 s"), (61_000, "1 min 1 s"), (3_600_000, "1 h"), (90_061_000, "1 d 1 h")],
)
def test_a_duration_is_told_in_its_two_largest_units(ms: int, text: str) -> None:
    assert write_duration(ms) == text


def test_moments_and_rates_are_told_for_people() -> None:
    assert "1970-01-01 00:00:05 UTC" in write_moment(5_000, now_ms=65_000)
    assert "1 min ago" in write_moment(5_000, now_ms=65_000)
    assert "in 1 min" in write_moment(65_000, now_ms=5_000)
    assert "now" in write_moment(5_000, now_ms=5_100)
    assert "no time" in write_moment(10**18)
    assert (write_rate(None), write_rate(0.25), write_rate(12_345.0)) == ("–", "0.2", "12\u202f345")
