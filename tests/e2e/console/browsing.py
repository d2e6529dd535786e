"""A group to look at and a browser to look with. Every page must stay at home and keep its console clean."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, sync_playwright

from tests.commands import LOUD_FLOW, wait_until, write
from tests.e2e.test_http import Service, serving

AXE = Path(__file__).with_name("axe.min.js")
CHROMIUM = "chromium"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
HOSTILE = "break <script>alert(1)</script> \u202egpj.exe مرحبا"
FLOW = LOUD_FLOW.replace('item.text == "break"', '"break" in item.text').replace('"broken on purpose"', "item.text")
"""It fails with what the text says."""

SETTINGS = {
    "GRISTMILL_API__PLANS": "loud",
    "GRISTMILL_MAIN__PROCESS_MODEL": "single",
    "GRISTMILL_DISPATCHER__RECOVERIES_MAX": "0",
    "GRISTMILL_DISPATCHER__DELIVERIES_MAX": "1",
}


def find_chromium() -> str:
    """Return the system's Chromium; without one, tests fail in CI and are skipped elsewhere."""
    found = shutil.which(CHROMIUM)
    if found is None:
        advice = "there is no chromium: run scripts/chromium.sh as root"
        if os.environ.get("CI"):
            raise FileNotFoundError(advice)
        pytest.skip(advice)
    return found


@contextmanager
def group_to_look_at(folder: Path, **settings: str) -> Iterator[Service]:
    """Start a group that has three items and two dead letters."""
    flow = write(folder / "loud.py", FLOW)
    with serving(folder / "state", **{**SETTINGS, **settings}, GRISTMILL_FLOWS__PATHS=str(flow)) as service:
        wait_until(service.is_ready, "ready")
        for number, text in enumerate(["a calm remark", "BUY NOW!!!", "مرحبا بالعالم", HOSTILE, "break"]):
            status, _ = service.call("POST", "/v1/items", {"id": f"c-{number}", "text": text, "author": HOSTILE})
            assert status == 202
        wait_until(lambda: count_letters(service) == 2, "dead letters")
        yield service


def count_letters(service: Service) -> int:
    """How many dead letters are open."""
    return len(service.call("GET", "/v1/dead-letters")[1]["dead_letters"])


@contextmanager
def running_browser() -> Iterator[Browser]:
    """Start a browser that shows nothing."""
    with sync_playwright() as playwright:
        # A sandbox of its own it cannot make as root, which continuous integration is.
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


class Visit:
    """One person at one window, with what the browser has complained of and whom it has asked."""

    def __init__(self, browser: Browser, service: Service, scheme: Literal["light", "dark"] = "light") -> None:
        self.service = service
        self.complaints: list[str] = []
        self.strangers: list[str] = []
        self.context = browser.new_context(
            base_url=service.url, color_scheme=scheme, viewport={"width": 1280, "height": 860}
        )
        self.page: Page = self.context.new_page()
        self.page.on("console", self._on_console)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", self._on_request)

    def log_in(self, after: str = "/console", token: str = "") -> None:
        """Ask for a page and give the token at the door."""
        self.page.goto(after)
        self.page.fill("#token", token or self.service.token)
        self.page.press("#token", "Enter")
        self.page.wait_for_selector(".side")

    def check_accessibility(self) -> list[str]:
        """Return what is hard to use on this page, and where."""
        self.page.evaluate(AXE.read_text(encoding="utf-8"))
        options = {"runOnly": {"type": "tag", "values": RULES}}
        found: dict[str, Any] = self.page.evaluate("options => axe.run(document, options)", options)
        return [
            f"{one['id']}: {node['target']} {node['failureSummary']}"
            for one in found["violations"]
            for node in one["nodes"]
        ]

    def close(self) -> None:
        """Close the window; complain of what the browser has complained of."""
        self.context.close()
        assert self.complaints == []
        assert self.strangers == []

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.text} ({message.location.get('url', '')})")

    def _on_request(self, request: Request) -> None:
        if not request.url.startswith((f"{self.service.url}/", "data:")):
            self.strangers.append(request.url)
