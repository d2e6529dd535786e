"""How the installation is, at a glance."""

from __future__ import annotations

from gristmill.api.calls import Call
from gristmill.api.console.page import Console, Nav, Page, View

__all__ = ["OVERVIEW_PAGES"]


async def _show_overview(console: Console, call: Call) -> View:
    return View("overview/page.html", report=console.services.health())


OVERVIEW_PAGES = (
    Page(
        name="consoleOverview",
        path="/console",
        title="Overview",
        access="viewer",
        handle=_show_overview,
        nav=Nav("Overview", key="o", order=10),
    ),
)
