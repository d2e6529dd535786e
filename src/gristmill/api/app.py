"""Puts the operations behind HTTP: routing, the guard of each route, and problems as answers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Protocol

from litestar import Litestar, Request, Response
from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler, HTTPRouteHandler
from litestar.response import Stream
from litestar.types import ASGIApp, ControllerRouterHandler, Receive, Scope, Send

from gristmill.api.calls import Call, Operation, Reply
from gristmill.api.calls.operation import Access
from gristmill.api.metrics import ApiMetrics
from gristmill.api.problems import Fault, problem
from gristmill.api.problems.catalogue import PROBLEM_MEDIA_TYPE
from gristmill.api.problems.translate import translate
from gristmill.api.routes import OPERATIONS
from gristmill.api.security import RequestRates, TokenGate
from gristmill.domain.errors import ConfigError
from gristmill.ports.clock import Clock

__all__ = ["FrontDesk", "Guard", "build_app", "make_call"]

CALLER = "gristmill_caller"
US_PER_S = 1_000_000
VARY = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
STATUSES_WITHOUT_BODY = (204, 304)
NO_BODY_LIMIT = None
"""Each operation has a bound of its own, and answers with a problem."""

AnyRequest = Request[Any, Any, Any]


class FrontDesk(Protocol):
    """What every application needs, whatever its operations stand on: who may come in, how often, and counters."""

    @property
    def gate(self) -> TokenGate: ...

    @property
    def rates(self) -> RequestRates: ...

    @property
    def tally(self) -> ApiMetrics: ...

    @property
    def clock(self) -> Clock: ...


class Guard:
    """Lets callers with a role pass; every route has exactly one. Other faces use it for routes of their own."""

    def __init__(self, access: Access, services: FrontDesk) -> None:
        self.access = access
        self._gate = services.gate
        self._rates = services.rates

    async def __call__(self, connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler) -> None:
        """Find out who calls.

        Raises:
            ProblemRaised: `unauthorised`, `forbidden`, `rate-limited`.
        """
        if self.access == "public":
            return
        method = connection.scope.get("method", "GET")
        headers = {name.lower(): value for name, value in connection.headers.items()}
        principal = await self._gate.identify(method=str(method), headers=headers, cookies=connection.cookies)
        if not principal.has(self.access):
            raise problem("forbidden", f"needs the role {self.access}, the token has {principal.role}")
        self._rates.take(principal.token_id)
        connection.scope["state"][CALLER] = principal


def build_app(
    services: FrontDesk,
    *,
    operations: Sequence[Operation] = OPERATIONS,
    pages: Sequence[ControllerRouterHandler] = (),
) -> Litestar:
    """Return the application.

    Args:
        pages: further route handlers, such as those of the console; each with a `Guard`.
    Raises:
        ConfigError: a route has no guard.
    """
    app = Litestar(
        [*(_make_handler(operation, services) for operation in operations), *pages],
        openapi_config=None,
        exception_handlers={Exception: partial(_answer_problem, services.tally)},
        request_max_body_size=NO_BODY_LIMIT,
        logging_config=None,
    )
    _refuse_unguarded(app)
    return app


def make_call(request: AnyRequest) -> Call:
    """Return a request as the operations see it.

    Raises:
        ProblemRaised: `validation`: a query parameter is given twice.
    """
    query: dict[str, str] = {}
    for name, value in request.query_params.multi_items():
        if name in query:
            raise problem("validation", "query", errors=[Fault(name, "is given twice")])
        query[name] = value
    return Call(
        caller=request.scope["state"].get(CALLER),
        path=request.url.path,
        path_values={name: str(value) for name, value in request.path_params.items()},
        query=query,
        headers={name.lower(): value for name, value in request.headers.items()},
        body=request.stream,
        client=request.client.host if request.client else "",
    )


def _make_handler(operation: Operation, services: FrontDesk) -> HTTPRouteHandler:
    answers = services.tally.answers.labels(operation.operation_id, "ok")
    seconds = services.tally.seconds.labels(operation.operation_id)

    async def answer(request: AnyRequest) -> ASGIApp:
        began_us = services.clock.monotonic_us()
        outcome = await operation.handle(services, make_call(request))
        answers.inc()
        seconds.observe((services.clock.monotonic_us() - began_us) / US_PER_S)
        if outcome.parts is None:
            return _Answer(outcome)
        parts, headers = _prepend(outcome.body, outcome.parts), {**VARY, **outcome.headers}
        stream = Stream(parts, status_code=outcome.status, media_type=outcome.media_type, headers=headers)
        return stream.to_asgi_response(None, request)

    return _Route(
        operation.path.replace("}", ":str}"),
        http_method=operation.method,
        guards=[Guard(operation.access, services)],
        name=operation.operation_id,
        opt={"operation": operation},
    )(answer)


class _Route(HTTPRouteHandler):
    """A route whose guard is handed the route itself: a copy for each request took a tenth of its time."""

    def __copy__(self) -> _Route:
        return self


class _Answer:
    """Sends a reply whose body is there: the framework's own response takes as long to build as all the rest of it."""

    def __init__(self, outcome: Reply) -> None:
        self._outcome = outcome

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        outcome, headers = self._outcome, dict(VARY)
        if outcome.status not in STATUSES_WITHOUT_BODY:
            is_text = outcome.media_type.startswith("text/")
            headers["Content-Type"] = f"{outcome.media_type}; charset=utf-8" if is_text else outcome.media_type
            headers["Content-Length"] = str(len(outcome.body))
        headers.update(outcome.headers)
        encoded = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
        body = b"" if outcome.status in STATUSES_WITHOUT_BODY else outcome.body
        await send({"type": "http.response.start", "status": outcome.status, "headers": encoded})
        await send({"type": "http.response.body", "body": body, "more_body": False})


async def _prepend(first: bytes, parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    if first:
        yield first
    async for part in parts:
        yield part


def _answer_problem(tally: ApiMetrics, request: AnyRequest, error: Exception) -> Response[Any]:
    raised = translate(error, path=request.scope["path"])
    operation = getattr(request.scope.get("route_handler"), "opt", {}).get("operation")
    tally.answers.labels(operation.operation_id if operation else "", raised.kind.name).inc()
    return Response(
        raised.document,
        status_code=raised.document.status,
        media_type=PROBLEM_MEDIA_TYPE,
        headers={**VARY, **raised.headers},
    )


def _refuse_unguarded(app: Litestar) -> None:
    for route in app.routes:
        handlers: Sequence[Any] = getattr(route, "route_handlers", None) or [getattr(route, "route_handler", None)]
        for handler in handlers:
            if handler is None or getattr(handler, "http_methods", set()) == {"OPTIONS"}:
                continue  # The framework itself answers which methods there are.
            guards: Sequence[Callable[..., Awaitable[None]]] = handler.guards or ()
            if sum(isinstance(guard, Guard) for guard in guards) != 1:
                advice = "give it one: guards=[Guard(role, services)]"
                raise ConfigError("route without a guard of its own", value=route.path, advice=advice)
