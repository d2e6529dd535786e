"""Puts pages behind HTTP: routing, the guard of each page, one layout around all, and errors as pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from litestar import HttpMethod, Request, Response
from litestar.handlers import HTTPRouteHandler

from gristmill.api.app import Guard, make_call
from gristmill.api.calls import Call
from gristmill.api.console import answers
from gristmill.api.console.assets import read_assets
from gristmill.api.console.pace import PaceWatch
from gristmill.api.console.page import Console, Page, Redirect, View
from gristmill.api.console.pages import PAGES
from gristmill.api.console.rendering import build_environment, make_url
from gristmill.api.console.traffic import TrafficWatch
from gristmill.api.problems import problem
from gristmill.api.problems.translate import translate
from gristmill.api.security import RequestRates, is_same_origin
from gristmill.api.services import Services
from gristmill.domain.front.access import Principal

__all__ = ["build_console"]

LOGINS_PER_S = 2.0
US_PER_S = 1_000_000
ERROR_TEMPLATE = "error.html"
FURTHER_METHODS: Sequence[HttpMethod] = (HttpMethod.GET, HttpMethod.POST, HttpMethod.PUT, HttpMethod.DELETE)

AnyRequest = Request[Any, Any, Any]


def build_console(services: Services, *, base_path: str = "", pages: Sequence[Page] = PAGES) -> list[HTTPRouteHandler]:
    """Return the routes of the console, each with its guard; hand them to `build_app`.

    Args:
        base_path: what a proxy puts in front of every path and takes away again; empty for none.
    """
    shell = _Shell(services, base_path.rstrip("/"), pages)
    return [*(shell.make_handler(page) for page in pages), *shell.make_further_handlers()]


class _Shell:
    def __init__(self, services: Services, base_path: str, pages: Sequence[Page]) -> None:
        self._services = services
        self._console = Console(
            services=services,
            base_path=base_path,
            logins=RequestRates(services.clock, rate_per_s=LOGINS_PER_S),
            pace=PaceWatch(services.log, services.generators, services.clock),
            traffic=TrafficWatch(services.front, services.log, services.clock),
            started_at_ms=services.clock.now_ms(),
        )
        self._assets = read_assets()
        self._url = make_url(base_path)
        self._templates = build_environment(base_path)
        self._nav = sorted((page for page in pages if page.nav is not None), key=lambda page: page.nav.order)  # type: ignore[union-attr]

    def make_handler(self, page: Page) -> HTTPRouteHandler:
        """Return the route of a page."""

        async def answer(request: AnyRequest) -> Response[bytes]:
            began_us = self._services.clock.monotonic_us()
            call = make_call(request)
            if page.method == "POST" and not is_same_origin(call.headers):
                raise problem("forbidden", "the form was not sent by a page of this console")
            outcome = await page.handle(self._console, call)
            self._services.tally.answers.labels(page.name, "ok").inc()
            self._services.tally.seconds.labels(page.name).observe(
                (self._services.clock.monotonic_us() - began_us) / US_PER_S
            )
            if isinstance(outcome, Redirect):
                return self._redirect(request, outcome)
            return answers.html(self._render(request, page, outcome), status=outcome.status)

        return HTTPRouteHandler(
            page.path.replace("}", ":str}"),
            http_method=page.method,
            guards=[Guard(page.access, self._services)],
            name=page.name,
            exception_handlers={Exception: partial(self._answer_error, page)},
        )(answer)

    def make_further_handlers(self) -> list[HTTPRouteHandler]:
        """Return the routes that are no pages: files, whatever does not exist, and the front door for browsers."""
        missing = Page(name="consoleMissing", path="", title="Not found", access="public", handle=_refuse)
        public = [Guard("public", self._services)]
        on_error: dict[int | type[Exception], Any] = {Exception: partial(self._answer_error, missing)}

        async def serve(request: AnyRequest) -> Response[bytes]:
            asset = self._assets.find(str(request.path_params["rest"]))
            return answers.static(asset.content, asset.media_type)

        async def refuse(request: AnyRequest) -> Response[bytes]:
            raise problem("not-found", "page of the console")

        async def lead(request: AnyRequest) -> Response[bytes]:
            if "text/html" not in request.headers.get("accept", ""):
                raise problem("not-found", "path")
            return answers.redirect(self._url(answers.HOME), is_partial=False)

        return [
            HTTPRouteHandler(
                "/console/static/{rest:path}", http_method="GET", guards=public, exception_handlers=on_error
            )(serve),
            HTTPRouteHandler(
                "/console/{rest:path}", http_method=FURTHER_METHODS, guards=public, exception_handlers=on_error
            )(refuse),
            HTTPRouteHandler("/", http_method="GET", guards=public)(lead),
        ]

    def _redirect(self, request: AnyRequest, outcome: Redirect) -> Response[bytes]:
        return answers.redirect(
            self._url(outcome.path),
            is_partial=_is_partial(request),
            session=outcome.session,
            is_secure="https" in (request.url.scheme, request.headers.get("x-forwarded-proto")),
        )

    def _answer_error(self, page: Page, request: AnyRequest, error: Exception) -> Response[bytes]:
        raised = translate(error, path=request.scope["path"])
        self._services.tally.answers.labels(page.name, raised.kind.name).inc()
        if raised.kind.name == "unauthorised" and page.access != "public":
            return self._ask_to_log_in(request)
        view = View(ERROR_TEMPLATE, title=raised.document.title, status=raised.document.status, problem=raised)
        text = self._render(request, page, view)
        return answers.html(text, status=view.status, headers=_without_challenge(raised.headers))

    def _ask_to_log_in(self, request: AnyRequest) -> Response[bytes]:
        if request.method != "GET":
            return answers.redirect(self._url(answers.LOGIN), is_partial=_is_partial(request))
        if _is_partial(request):
            # Nobody reads a part by itself: come back to the page that asked for it.
            _, _, wanted = request.headers.get("hx-current-url", "").partition("://")
            wanted = "/" + wanted.partition("/")[2].removeprefix(self._console.base_path.lstrip("/")).lstrip("/")
        else:
            wanted = request.scope["path"] + (f"?{request.url.query}" if request.url.query else "")
        return answers.redirect(self._url(answers.login_path(wanted)), is_partial=_is_partial(request))

    def _render(self, request: AnyRequest, page: Page, view: View) -> str:
        viewer: Principal | None = request.scope["state"].get("gristmill_caller")
        return self._templates.get_template(view.template).render(
            {
                "title": view.title or page.title,
                "section": page.section or page.name,
                "nav": self._nav,
                "viewer": viewer,
                "can": lambda role: viewer is not None and viewer.has(role),
                "now_ms": self._services.clock.now_ms(),
                "here": request.scope["path"] + (f"?{request.url.query}" if request.url.query else ""),
                "origin": f"{request.url.scheme}://{request.url.netloc}{self._console.base_path}",
                **view.values,
            }
        )


async def _refuse(console: Console, call: Call) -> View:
    raise problem("not-found", "page of the console")


def _is_partial(request: AnyRequest) -> bool:
    return request.headers.get("hx-request") == "true"


def _without_challenge(headers: Mapping[str, str]) -> dict[str, str]:
    """Leave out what would make a browser ask for a password in a window of its own."""
    return {name: value for name, value in headers.items() if name.lower() != "www-authenticate"}
