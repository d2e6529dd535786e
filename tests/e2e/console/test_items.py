"""Exploring items and tracing one, in a real browser, over the sample posts."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from PIL import Image
from playwright.sync_api import Browser, expect

from tests.e2e.console.browsing import Visit
from tests.e2e.console.posts import REASON, Posts, group_with_posts
from tests.e2e.test_http import Service

pytestmark = pytest.mark.cluster

PICTURES = Path(__file__).parents[3] / "docs" / "images"
TAKE_PICTURES = "GRISTMILL_TAKE_PICTURES"
"""Set it to 1 to take the pictures of the docs anew; otherwise only their pages are looked at."""

PICTURE_BYTES_MAX = 200_000
SCREEN = {"width": 1440, "height": 900}


@pytest.fixture(scope="module")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, Posts]]:
    with group_with_posts(tmp_path_factory.mktemp("posts")) as started:
        yield started


@pytest.fixture
def posts(seeded: tuple[Service, Posts]) -> Posts:
    return seeded[1]


@pytest.fixture
def visit(browser: Browser, seeded: tuple[Service, Posts]) -> Iterator[Visit]:
    made = Visit(browser, seeded[0])
    yield made
    made.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_explorer_and_trace_can_be_used_by_everybody(
    browser: Browser, seeded: tuple[Service, Posts], scheme: Literal["light", "dark"]
) -> None:
    service, posts = seeded
    visit = Visit(browser, service, scheme)
    visit.log_in()
    found: dict[str, list[str]] = {}
    for place in (
        *("/console/items", "/console/items?label=spam", "/console/items?label=-spam", "/console/items?text=nowhere"),
        *(f"/console/items/{posts.duplicate}", f"/console/items/{posts.negated}?judged=spam"),
    ):
        visit.page.goto(place)
        # What is folded away counts too; a menu lies over other things on purpose.
        visit.page.evaluate("document.querySelectorAll('main details:not(.menu)').forEach(one => { one.open = true; })")
        found[place] = visit.check_accessibility()
    visit.close()
    assert {place: faults for place, faults in found.items() if faults} == {}


def test_a_question_is_asked_narrowed_and_widened_by_mouse(visit: Visit, posts: Posts) -> None:
    visit.log_in("/console/items")
    page = visit.page
    expect(page.get_by_text(f"All {posts.count} items searched")).to_be_visible()
    page.get_by_label("Text holds").fill("PRIZE")
    page.get_by_role("button", name="Search").click()
    expect(page).to_have_url(re.compile("text=PRIZE"))
    few = page.locator("[data-row]").count()
    assert 0 < few < posts.count
    page.locator(".facet", has_text="Labels that hold").get_by_role("link", name="spam").click()
    expect(page).to_have_url(re.compile("label=spam"))
    page.locator(".chips").get_by_role("link", name="text").click()
    expect(page).not_to_have_url(re.compile("text="))
    page.locator("summary", has_text="Columns").click()
    page.get_by_role("link", name="Input id").click()
    expect(page).to_have_url(re.compile("columns=item_id.*input_id"))
    expect(page.get_by_role("columnheader", name="Input id")).to_be_visible()


def test_the_pages_of_a_question_hold_every_item_once(visit: Visit, posts: Posts) -> None:
    visit.log_in("/console/items?limit=25")
    seen: list[str] = []
    while True:
        seen += visit.page.locator("[data-row] .col-item-id").all_inner_texts()
        older = visit.page.get_by_role("link", name="Older")
        if not older.count():
            break
        older.click()
    assert len(seen) == len(set(seen)) == posts.count


def test_a_file_is_downloaded_with_what_was_asked(visit: Visit) -> None:
    visit.log_in("/console/items?label=spam&columns=item_id,input_id")
    rows = visit.page.locator("[data-row]").count()
    with visit.page.expect_download() as download:
        visit.page.get_by_role("link", name="CSV").click()
    lines = Path(download.value.path()).read_text(encoding="utf-8").splitlines()
    assert (lines[0], len(lines)) == ("item_id,input_id", rows + 1)


def test_a_label_is_negated_and_taken_back_by_keyboard_alone(visit: Visit, posts: Posts) -> None:
    visit.log_in("/console")
    keys, page = visit.page.keyboard, visit.page
    keys.press("g")
    keys.press("i")
    expect(page).to_have_url(re.compile(r"/console/items$"))
    keys.press("/")
    keys.type("selected to win a new phone. claim your prize here")
    keys.press("Enter")
    expect(page).to_have_url(re.compile("text=selected"))
    keys.press("j")
    keys.press("Enter")
    page.wait_for_selector("#run")
    tab_to(visit, "It does not hold… spam")
    keys.press("Enter")
    keys.press("Tab")
    keys.type("a quote from a warning")
    keys.press("Enter")
    banner = page.get_by_role("status").filter(has_text="does not hold")
    expect(banner).to_contain_text("a quote from a warning")
    tab_to(visit, "Undo")
    keys.press("Enter")
    expect(page.get_by_role("status").filter(has_text="holds: taken back")).to_be_visible()


def tab_to(visit: Visit, text: str) -> None:
    """Go on with Tab until what reads so has the focus; it must be seen to have it on the way."""
    for _ in range(80):
        visit.page.keyboard.press("Tab")
        assert visit.page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
        if visit.page.evaluate("document.activeElement.textContent.trim()") == text:
            return
    pytest.fail(f"{text} is not reached")


def test_a_trace_tells_who_said_what_and_draws_the_plan(visit: Visit, posts: Posts) -> None:
    visit.log_in(f"/console/items/{posts.negated}")
    page = visit.page
    expect(page.locator(".word", has_text=REASON)).to_contain_text("eve by first start")
    drawing = page.get_by_role("img", name="Plan screen")
    drawn = drawing.locator("g.task .task-name").all_text_contents()
    listed = [text.partition(",")[0].strip() for text in page.locator("table.tasks tbody th").all_inner_texts()]
    assert sorted(drawn) == sorted(listed)
    expect(page.locator(".timeline")).to_contain_text("item taken in")
    page.get_by_role("link", name=re.compile("^[0-9a-f]{32}$")).click()
    expect(page).to_have_url(re.compile(f"/console/items/{posts.negated}\\?run=[0-9a-f]+#run$"))


def test_a_duplicate_leads_to_what_it_repeats(visit: Visit, posts: Posts) -> None:
    visit.log_in(f"/console/items/{posts.duplicate}")
    visit.page.locator(".peers li", has_text="leads").first.get_by_role("link").click()
    expect(visit.page.get_by_role("heading", level=1)).to_contain_text("p16")


def test_links_and_calls_are_copied(visit: Visit, posts: Posts) -> None:
    visit.context.grant_permissions(["clipboard-read", "clipboard-write"])
    visit.log_in(f"/console/items/{posts.duplicate}")
    visit.page.get_by_role("button", name="Copy curl").click()
    expect(visit.page.get_by_text("Copied")).to_be_visible()
    copied = visit.page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith('curl -H "Authorization: Bearer $GRISTMILL_TOKEN" http')
    assert copied.endswith(f"/v1/items/{posts.duplicate}/explain")
    visit.page.get_by_role("button", name="Copy link").click()
    visit.page.wait_for_function("async () => (await navigator.clipboard.readText()).includes('/console/items/')")


@pytest.mark.parametrize("width", [360, 800])
def test_a_narrow_window_is_never_wider_than_itself(visit: Visit, posts: Posts, width: int) -> None:
    visit.log_in()
    visit.page.set_viewport_size({"width": width, "height": 740})
    for place in ("/console/items", f"/console/items/{posts.duplicate}"):
        visit.page.goto(place)
        assert visit.page.evaluate("document.documentElement.scrollWidth") <= width, place


@pytest.mark.parametrize("width", [1280, 1920])
def test_labels_and_status_stand_on_the_page_however_long_a_text_is(
    visit: Visit, seeded: tuple[Service, Posts], width: int
) -> None:
    address = "https://example.com/" + "a" * 300
    seeded[0].call("POST", "/v1/items", {"id": f"long-{width}", "text": f"see {address} {'and so on ' * 50}"})
    visit.log_in()
    visit.page.set_viewport_size({"width": width, "height": 900})
    visit.page.goto("/console/items?text=example.com/aaaa")
    assert visit.page.locator("table.items th").all_inner_texts() == ["Item", "Written", "Text", "Labels", "Status"]
    table = visit.page.get_by_role("region", name="Table of items")
    assert table.evaluate("one => one.scrollWidth <= one.clientWidth")
    assert visit.page.locator(".clip").first.bounding_box()["height"] < 50  # type: ignore[index]


@pytest.mark.parametrize(
    ("name", "place", "shows"),
    [
        ("console-overview", "/console", "#chart canvas"),
        ("console-items", "/console/items?label=spam", ".bars"),
        ("console-trace", "/console/items/{negated}", "svg.plan"),
    ],
)
def test_the_pictures_of_the_docs_show_pages_that_exist(
    browser: Browser, seeded: tuple[Service, Posts], name: str, place: str, shows: str
) -> None:
    service, posts = seeded
    visit = Visit(browser, service)
    visit.log_in()
    visit.page.set_viewport_size({"width": SCREEN["width"], "height": SCREEN["height"]})
    visit.page.goto(place.format(negated=posts.negated))
    expect(visit.page.locator(shows).first).to_be_visible()
    picture = PICTURES / f"{name}.png"
    if os.environ.get(TAKE_PICTURES) == "1":
        height = 1_450 if "trace" in name else SCREEN["height"]
        visit.page.set_viewport_size({"width": SCREEN["width"], "height": height})
        visit.page.wait_for_load_state("networkidle")
        visit.page.screenshot(path=picture)
        # A palette is enough for a page, and a third of the bytes.
        Image.open(picture).convert("RGB").quantize(256, dither=Image.Dither.NONE).save(picture, optimize=True)
    visit.close()
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size < PICTURE_BYTES_MAX
