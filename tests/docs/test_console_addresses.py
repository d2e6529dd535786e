"""Addresses of the console and pictures that the docs show exist."""

import re
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import msgspec
import pytest

from gristmill.api.console.page import Page
from gristmill.api.console.pages import PAGES
from gristmill.api.console.pages.items import ExplorerQuery

DOCS = Path(__file__).parents[2] / "docs"
ADDRESS = re.compile(r"`(?:http://127\.0\.0\.1:8080)?(/console[^`]*)`")
PICTURE = re.compile(r"!\[([^\]]*)\]\(([^)]+)\)")


def guides() -> list[Path]:
    return sorted(DOCS.rglob("*.md"))


def addresses() -> list[str]:
    return sorted({address for guide in guides() for address in ADDRESS.findall(guide.read_text(encoding="utf-8"))})


def leads_to(page: Page, path: str) -> bool:
    return page.method == "GET" and re.fullmatch(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(page.path)), path) is not None


@pytest.mark.parametrize("address", addresses())
def test_an_address_of_the_console_leads_to_a_page(address: str) -> None:
    parts = urlsplit(address)
    assert any(leads_to(page, parts.path) for page in PAGES)
    if parts.path == "/console/items":
        msgspec.convert(dict(parse_qsl(parts.query)), ExplorerQuery, strict=False).filter()
        known = {field.name for field in msgspec.structs.fields(ExplorerQuery)}
        assert dict(parse_qsl(parts.query)).keys() <= known


def test_every_picture_is_there_and_told_in_words() -> None:
    found = [
        (guide, words, target) for guide in guides() for words, target in PICTURE.findall(guide.read_text("utf-8"))
    ]
    assert found
    for guide, words, target in found:
        assert (guide.parent / target).is_file(), f"{guide.name}: {target}"
        assert words
