"""Dead letters mended and subscriptions steered in a real browser."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, expect

from tests.commands import wait_until
from tests.delivery.webhooks import WebhookServer
from tests.e2e.console.browsing import Visit, count_letters, group_to_look_at
from tests.e2e.test_http import Service

pytestmark = pytest.mark.cluster

SUBSCRIPTION = """
subscription: desk
rows: '"loud" in item.labels'
to: {{webhook: '{url}'}}
from: earliest
"""
MANY = 600
"""More than one step."""

DESK = "/console/subscriptions/main/desk"


@pytest.fixture(scope="module")
def receiver() -> Iterator[WebhookServer]:
    with WebhookServer() as started:
        yield started


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, receiver: WebhookServer) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("steering")
    with group_to_look_at(folder, GRISTMILL_DELIVERY__ALLOW=receiver.authority) as started:
        text = (
            f"subscription: desk\nrows: '\"loud\" in item.labels'\nto: {{webhook: '{receiver.url}'}}\nfrom: earliest\n"
        )
        assert started.call("POST", "/v1/subscriptions", {"definition": text})[0] == 200
        wait_until(lambda: bool(receiver.newest), "a message")
        yield started


@pytest.fixture
def visit(browser: Browser, service: Service) -> Iterator[Visit]:
    made = Visit(browser, service)
    made.log_in()
    yield made
    made.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_of_steering_can_be_used_and_seen_by_everybody(
    browser: Browser, service: Service, scheme: Literal["light", "dark"], tmp_path: Path
) -> None:
    visit = Visit(browser, service, scheme)
    visit.log_in()
    page, found, pictures = visit.page, dict[str, list[str]](), dict[str, bytes]()

    def judge(name: str) -> None:
        found[name] = visit.check_accessibility()
        pictures[name] = page.screenshot(path=tmp_path / f"{name}-{scheme}.png")
        wider: int = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wider <= 0, name

    page.goto("/console/subscriptions")
    judge("list")
    page.goto(DESK)
    page.click("td details summary")
    judge("subscription")
    page.goto(f"{DESK}/replay?since=earliest&until=now")
    judge("replay")
    page.goto(DESK)
    page.click("summary:has-text('New secret')")
    page.click("#rotate")
    page.wait_for_selector("#secret")
    judge("secret")
    page.goto("/console/dead-letters/1")
    page.click("#try")
    page.wait_for_selector("#trial")
    judge("trial")
    page.fill("#payload-text", '{"text": 7}')
    page.click("#edit")
    page.wait_for_selector("#faults")
    judge("faults")
    page.goto("/console/dead-letters/closed")
    judge("closed")
    page.set_viewport_size({"width": 360, "height": 800})
    for name, place in (("narrow-subscription", DESK), ("narrow-letter", "/console/dead-letters/1")):
        page.goto(place)
        judge(name)
    visit.complaints = [one for one in visit.complaints if "/edit" not in one]  # Faults are answered with 400.
    visit.close()
    assert len({hash(picture) for picture in pictures.values()}) == len(pictures)
    faults = [f"{place}: {fault}" for place, all_faults in found.items() for fault in all_faults]
    assert not faults, "\n".join(faults)


def test_a_subscription_is_paused_tried_and_resumed_by_keyboard_alone(
    visit: Visit, service: Service, receiver: WebhookServer
) -> None:
    keys, page = visit.page.keyboard, visit.page
    keys.press("g")
    keys.press("u")
    expect(page).to_have_url(re.compile(r"/console/subscriptions$"))
    keys.press("j")
    keys.press("Enter")
    page.wait_for_selector("#log")
    for button, told in (("Pause", "Paused"), ("Send a test", "took the test"), ("Resume", "Resumed")):
        focus_by_tab(visit, button)
        keys.press("Enter")
        expect(page.get_by_role("status").first).to_contain_text(told)
    assert any(event["data"]["point"] == "test" for event in receiver.got)
    [listed] = service.call("GET", "/v1/subscriptions")[1]["subscriptions"]
    assert listed["status"] == "active"


def test_a_letter_is_tried_mended_and_sent_back(visit: Visit, service: Service) -> None:
    before, page = count_letters(service), visit.page
    page.goto("/console/dead-letters")
    page.click("[data-row] a")
    page.click("[data-row] a")
    page.wait_for_selector("#payload-text")
    typed = page.input_value("#payload-text")
    page.click("#try")
    expect(page.locator("#trial")).to_contain_text("failed")
    page.fill("#payload-text", re.sub(r'"text": "[^"\n]*"', '"text": "mended!"', typed))
    page.click("#try")
    expect(page.locator("#trial")).to_contain_text("loud")
    page.fill("#edit-reason", "a typo")
    page.click("#edit")
    expect(page.get_by_role("status").first).to_contain_text("edited and sent back")
    assert count_letters(service) == before - 1
    page.goto("/console/dead-letters/closed")
    expect(page.locator("tbody")).to_contain_text("a typo")
    page.click("[data-row] a")
    expect(page.locator("#edited ~ *, #edited").first).to_be_visible()
    wait_until(lambda: "mended!" in str(service.call("GET", "/v1/items?limit=10")[1]), "the mended item")


def test_many_letters_are_dropped_step_by_step_without_a_further_click(visit: Visit, service: Service) -> None:
    lines = b"".join(
        json.dumps({"id": f"m-{number}", "text": f"break {number}"}).encode() + b"\n" for number in range(MANY)
    )
    status, _ = service.call("POST", "/v1/items:batch", lines, **{"Content-Type": "application/x-ndjson"})
    assert status == 200
    wait_until(lambda: largest_cause(service) == MANY, "dead letters", timeout_s=60)
    page = visit.page
    page.goto("/console/dead-letters?q=break")
    page.click(f"tr:has-text('{MANY}') a")
    page.click("#drop-all")
    page.fill("#reason", "made by a test")
    page.click("button.danger")
    expect(page.locator("[role=status]").first).to_contain_text(f"{MANY} of {MANY} dropped", timeout=30_000)
    assert largest_cause(service) < MANY


def largest_cause(service: Service) -> int:
    return max((cause["count"] for cause in service.call("GET", "/v1/dead-letter-causes")[1]["causes"]), default=0)


def focus_by_tab(visit: Visit, text: str) -> None:
    for _ in range(60):
        visit.page.keyboard.press("Tab")
        assert visit.page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
        if visit.page.evaluate("document.activeElement.textContent.trim()") == text:
            return
    pytest.fail(f"{text} is not reached")
