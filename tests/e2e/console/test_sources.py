"""Sources in a real browser: looking, pausing, and moving a group after a count, by mouse and by keyboard alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, expect

from tests.e2e.console.browsing import Visit, group_to_look_at
from tests.e2e.test_http import Service

pytestmark = pytest.mark.cluster

ONE = "/console/sources/items"
PNG_BYTES_MIN = 20_000
"""A picture of a page with something on it."""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with group_to_look_at(tmp_path_factory.mktemp("sources")) as started:
        yield started


@pytest.fixture
def visit(browser: Browser, service: Service) -> Iterator[Visit]:
    made = Visit(browser, service)
    made.log_in()
    yield made
    made.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_of_sources_can_be_used_and_seen_by_everybody(
    browser: Browser, service: Service, scheme: Literal["light", "dark"], tmp_path: Path
) -> None:
    visit = Visit(browser, service, scheme)
    visit.log_in()
    faults: list[str] = []
    for name, place in (("list", "/console/sources"), ("one", ONE), ("seek", f"{ONE}/seek?to=earliest")):
        visit.page.goto(place)
        faults += [f"{name}: {fault}" for fault in visit.check_accessibility()]
        picture = visit.page.screenshot(path=tmp_path / f"{name}-{scheme}.png")
        assert len(picture) > PNG_BYTES_MIN, name
        wide: int = visit.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, f"{name} is wider than its window"
    visit.close()
    assert not faults, "\n".join(faults)


def test_a_source_is_paused_and_resumed_by_keyboard_alone(visit: Visit) -> None:
    page = visit.page
    page.keyboard.press("g")
    page.keyboard.press("s")
    expect(page).to_have_url(re.compile(r"/console/sources$"))
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(rf"{ONE}$"))
    page.locator("#reason").focus()
    page.keyboard.type("the judge is down")
    page.keyboard.press("Enter")
    expect(page.get_by_text("nothing more is handed out")).to_be_visible()
    [generator] = visit.service.call("GET", "/v1/generators")[1]["generators"]
    assert (generator["paused"], generator["pause_reason"]) == (True, "the judge is down")
    # The dispatcher hears of it a moment later; what was published before is still worked off.
    for number in range(5):
        visit.service.call("POST", "/v1/items", {"id": f"late{number}", "text": "waits"})
        page.wait_for_timeout(1_000)
    expect(page.locator("#live")).to_contain_text("Somebody has paused the generator", timeout=15_000)
    page.locator("#resume").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").filter(has_text="Resumed")).to_be_visible()


def test_a_source_is_moved_only_after_its_records_were_counted(visit: Visit) -> None:
    page = visit.page
    page.goto(ONE)
    page.fill("#to", "now")
    page.click("#preview")
    expect(page.locator("#skipped")).to_contain_text("records")
    page.get_by_role("link", name="Cancel").click()
    expect(page).to_have_url(re.compile(rf"{ONE}$"))
    page.fill("#to", "now")
    page.press("#to", "Enter")
    page.click("#move")
    expect(page.get_by_role("status").filter(has_text="Moved:")).to_be_visible()
    expect(page.get_by_text("moved to now of items")).to_be_visible()
