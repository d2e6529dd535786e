"""Logging in with a token, and out again."""

from __future__ import annotations

from gristmill.api.calls import Call
from gristmill.api.console.answers import HOME, LOGIN, is_local
from gristmill.api.console.page import Console, Page, Redirect, View, read_form

__all__ = ["SESSION_PAGES"]

TEMPLATE = "session/login.html"


async def _show_login(console: Console, call: Call) -> View:
    return View(TEMPLATE, after=_after(call.query.get("next", "")), fault="")


async def _log_in(console: Console, call: Call) -> View | Redirect:
    form = await read_form(call)
    after, token = _after(form.get("next", "")), form.get("token", "").strip()
    if await console.services.gate.find(token) is None:
        # Only what is wrong counts: behind a proxy all have one address, and nobody may keep the others out.
        console.logins.take(call.client)
        return View(TEMPLATE, status=401, after=after, fault="This token is not known here, or it was revoked.")
    return Redirect(after, session=token)


async def _log_out(console: Console, call: Call) -> Redirect:
    return Redirect(LOGIN, session="")


async def _confirm(console: Console, call: Call) -> View:
    """Answer a script that asks whether the browser has a session after all."""
    return View("session/confirm.html")


def _after(wanted: str) -> str:
    return wanted if is_local(wanted) else HOME


SESSION_PAGES = (
    Page(name="consoleLogin", path=LOGIN, title="Log in", access="public", handle=_show_login),
    Page(name="consoleLogIn", path=LOGIN, title="Log in", access="public", handle=_log_in, method="POST"),
    Page(
        name="consoleLogOut",
        path="/console/logout",
        title="Log out",
        access="public",
        handle=_log_out,
        method="POST",
    ),
    Page(name="consoleSession", path="/console/session", title="Session", access="viewer", handle=_confirm),
)
