"""The console in a real browser: logging in, looking, acting, by mouse and by keyboard alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

import pytest
from playwright.sync_api import Browser, expect

from gristmill.api.console.pages import PAGES
from tests.commands import wait_until
from tests.e2e.console.browsing import Visit, count_letters, group_to_look_at
from tests.e2e.test_http import Service

pytestmark = pytest.mark.cluster

PLAIN = sorted(page.path for page in PAGES if page.method == "GET" and "{" not in page.path and page.nav is not None)
PLACES = [*PLAIN, "/console/jump?q=nothing", "first item", "first cause", "first letter", "before requeueing"]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with group_to_look_at(tmp_path_factory.mktemp("console")) as started:
        yield started


@pytest.fixture
def visit(browser: Browser, service: Service) -> Iterator[Visit]:
    made = Visit(browser, service)
    yield made
    made.close()


def go(visit: Visit, place: str) -> None:
    """Go to an address, or to one that only a list of another page knows."""
    page = visit.page
    match place:
        case "first item":
            [item] = visit.service.call("GET", "/v1/items?limit=1")[1]["items"]
            page.goto(f"/console/items/{item['item_id']}")
        case "first cause" | "first letter" | "before requeueing":
            page.goto("/console/dead-letters")
            page.click("[data-row] a")
            page.wait_for_selector("#letters")
            if place == "first letter":
                page.click("[data-row] a")
                page.wait_for_selector("#payload")
            if place == "before requeueing":
                page.click("#requeue-all")
                page.wait_for_selector("form.stack")
        case _:
            page.goto(place)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_can_be_used_by_everybody(
    browser: Browser, service: Service, scheme: Literal["light", "dark"]
) -> None:
    visit = Visit(browser, service, scheme)
    visit.page.goto("/console/login")
    found = {"login": visit.check_accessibility()}
    visit.log_in()
    for place in PLACES:
        go(visit, place)
        found[place] = visit.check_accessibility()
    visit.page.goto("/console")
    for dialog in ("palette", "keys"):
        visit.page.click(f"[data-open={dialog}]")
        found[dialog] = visit.check_accessibility()
        visit.page.keyboard.press("Escape")
    visit.complaints = [one for one in visit.complaints if "jump?q=nothing" not in one]  # It is answered with 404.
    visit.close()
    faults = [f"{place}: {fault}" for place, faults in found.items() for fault in faults]
    assert not faults, "\n".join(faults)


def test_a_person_logs_in_and_comes_to_where_they_wanted(visit: Visit) -> None:
    visit.log_in("/console/dead-letters?q=broken")
    assert visit.page.url.endswith("/console/dead-letters?q=broken")
    expect(visit.page.get_by_label("Words in plan, task or error")).to_have_value("broken")
    assert visit.page.evaluate("document.cookie") == ""
    visit.page.get_by_role("button", name="Log out").click()
    expect(visit.page).to_have_url(re.compile(r"/console/login$"))
    visit.page.goto("/console")
    expect(visit.page).to_have_url(re.compile(r"/console/login$"))


def test_a_link_fills_in_its_token_and_a_person_presses_the_button(visit: Visit) -> None:
    asked: list[str] = []
    visit.page.on("request", lambda request: asked.append(request.url))
    visit.page.goto(f"/console/login#token={visit.service.token}")
    expect(visit.page.get_by_role("button", name="Log in")).to_be_focused()
    expect(visit.page.get_by_text("has filled in its token")).to_be_visible()
    assert visit.page.url.endswith("/console/login"), "nobody reads it over a shoulder, or sends it on"
    visit.page.keyboard.press("Enter")
    visit.page.wait_for_selector(".side")
    assert [url for url in asked if visit.service.token in url.partition("#")[0]] == []
    for odd in ("#token=", "#token=gm_x_y", "#tok=gm_1_2", "#token=%3Cb%3E"):
        visit.page.goto("about:blank")
        visit.page.goto(f"/console/login{odd}")
        expect(visit.page.locator("#token")).to_have_value("")


def test_a_wrong_token_is_told_where_it_was_typed(visit: Visit) -> None:
    visit.page.goto("/console/login")
    visit.page.fill("#token", "gm_nobody_nothing")
    visit.page.press("#token", "Enter")
    expect(visit.page.get_by_role("alert")).to_contain_text("not known here")
    visit.complaints.clear()  # The browser notes the status 401.


def test_a_link_from_elsewhere_finds_the_session_again(visit: Visit, browser: Browser) -> None:
    visit.log_in()
    visit.page.goto("about:blank")
    visit.page.goto("data:text/html,<a href='" + visit.service.url + "/console/dead-letters?q=x'>here</a>")
    visit.page.click("a")
    expect(visit.page).to_have_url(re.compile(r"/console/dead-letters\?q=x$"))


def test_hostile_content_is_shown_and_does_nothing(visit: Visit) -> None:
    dialogs: list[str] = []
    visit.page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    visit.log_in("/console/dead-letters")
    for row in range(visit.page.locator("[data-row]").count()):
        visit.page.locator("[data-row] a").nth(row).click()
        visit.page.wait_for_selector("#letters")
        visit.page.locator("[data-row] a").first.click()
        visit.page.wait_for_selector("#payload")
        visit.page.go_back()
        visit.page.go_back()
    assert dialogs == []


def test_a_dead_letter_is_brought_back_by_keyboard_alone(visit: Visit) -> None:
    before = count_letters(visit.service)
    keys = visit.page.keyboard
    visit.page.goto("/console")
    keys.type(visit.service.token)  # The field has the focus.
    keys.press("Enter")
    visit.page.wait_for_selector(".side")
    keys.press("g")
    keys.press("d")
    expect(visit.page).to_have_url(re.compile(r"/console/dead-letters$"))
    keys.press("j")
    keys.press("Enter")
    visit.page.wait_for_selector("#letters")
    keys.press("j")
    keys.press("Enter")
    visit.page.wait_for_selector("#payload")
    focus_by_tab(visit, "Requeue as it is")
    keys.press("Enter")
    expect(visit.page.get_by_role("status").first).to_contain_text("requeued")
    # It fails again, so others find what they expect.
    wait_until(lambda: count_letters(visit.service) == before, "the letter again")


def focus_by_tab(visit: Visit, text: str) -> None:
    for _ in range(60):
        visit.page.keyboard.press("Tab")
        assert visit.page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
        if visit.page.evaluate("document.activeElement.textContent.trim()") == text:
            return
    pytest.fail(f"{text} is not reached")


def test_the_first_stop_of_the_keyboard_skips_the_navigation(visit: Visit) -> None:
    visit.log_in()
    visit.page.goto("/console/dead-letters")
    visit.page.keyboard.press("Tab")
    expect(visit.page.get_by_role("link", name="Skip to content")).to_be_focused()
    visit.page.keyboard.press("Enter")
    expect(visit.page.locator("#main")).to_be_focused()


def test_a_page_is_refreshed_without_moving_anything(visit: Visit) -> None:
    visit.page.clock.install()
    visit.log_in()
    stored = visit.page.locator(".tile", has_text="Items stored").locator(".figure")
    before = int(stored.inner_text())
    visit.page.locator("#dead").focus()
    visit.service.call("POST", "/v1/items", {"text": "one more"})
    wait_until(lambda: len(visit.service.call("GET", "/v1/items")[1]["items"]) > before, "one more item")
    with visit.page.expect_response(lambda answer: answer.request.headers.get("hx-request") == "true"):
        visit.page.clock.run_for(5_100)
    expect(stored).to_have_text(str(before + 1))
    expect(visit.page.locator("#dead")).to_be_focused()


def test_a_paused_page_asks_for_nothing(visit: Visit) -> None:
    visit.page.clock.install()
    visit.log_in()
    visit.page.keyboard.press("p")
    switch = visit.page.locator("[data-live-switch]")
    expect(switch).to_have_text("Paused")
    asked: list[str] = []
    visit.page.on("request", lambda request: asked.append(request.url))
    visit.page.clock.run_for(30_000)
    assert asked == []
    switch.click()
    expect(switch).to_have_attribute("aria-pressed", "true")


def test_a_selection_is_left_alone(visit: Visit) -> None:
    visit.page.clock.install()
    visit.log_in()
    visit.page.evaluate("getSelection().selectAllChildren(document.getElementById('generators'))")
    asked: list[str] = []
    visit.page.on("request", lambda request: asked.append(request.url))
    visit.page.clock.run_for(11_000)
    assert asked == []


def test_zone_and_appearance_are_remembered(visit: Visit) -> None:
    visit.log_in()
    visit.page.keyboard.press("t")
    for _ in range(2):
        visit.page.locator("[data-theme-switch]").click()
    visit.page.goto("/console/dead-letters")
    assert visit.page.evaluate("document.documentElement.dataset.theme") == "dark"
    expect(visit.page.locator("[data-zone]")).to_have_text("Local")
    assert "UTC" not in visit.page.locator("time").first.inner_text()


def test_the_palette_leads_to_pages_and_ids(visit: Visit) -> None:
    [item] = visit.service.call("GET", "/v1/items?limit=1")[1]["items"]
    visit.log_in()
    visit.page.keyboard.press("Control+k")
    visit.page.keyboard.type("dead")
    visit.page.keyboard.press("Enter")
    expect(visit.page).to_have_url(re.compile(r"/console/dead-letters$"))
    for wanted in (item["item_id"], item["input_id"]):
        visit.page.goto("/console")
        visit.page.keyboard.press("Control+k")
        visit.page.keyboard.type(wanted)
        visit.page.keyboard.press("Enter")
        expect(visit.page).to_have_url(re.compile(f"/console/items/{item['item_id']}$"))


def test_a_viewer_is_offered_nothing_that_changes_anything(visit: Visit) -> None:
    made = visit.service.call("POST", "/v1/tokens", {"name": "eve", "role": "viewer", "tenant": "main"})[1]
    visit.log_in("/console/dead-letters", made["token"])
    expect(visit.page.locator(".who")).to_contain_text("read only")
    visit.page.locator("[data-row] a").first.click()
    visit.page.wait_for_selector("#letters")
    expect(visit.page.get_by_role("link", name="Requeue")).to_have_count(0)
    visit.page.locator("[data-row] a").first.click()
    visit.page.wait_for_selector("#payload")
    expect(visit.page.get_by_role("button", name="Requeue")).to_have_count(0)


def test_a_narrow_window_is_never_wider_than_itself(visit: Visit) -> None:
    visit.log_in()
    visit.page.set_viewport_size({"width": 360, "height": 740})
    for place in [*PLAIN, "first letter"]:
        go(visit, place)
        assert visit.page.evaluate("document.documentElement.scrollWidth") <= 360, place
