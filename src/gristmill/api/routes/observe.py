"""Probes, counters, and the catalogue of problems."""

from __future__ import annotations

from gristmill.api.calls import Call, Operation, Reply, reply
from gristmill.api.problems import CATALOGUE, problem
from gristmill.api.services import Services
from gristmill.api.shapes.probes import ProbeQuery, ProbeView, ProblemView, ServiceView
from gristmill.domain.front.health import Probe

__all__ = ["OBSERVE_OPERATIONS"]

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


async def _answer_startup(services: Services, call: Call) -> Reply:
    """Say whether every process has started."""
    return _answer(services, call, "startup")


async def _answer_live(services: Services, call: Call) -> Reply:
    """Say whether the main process makes progress; nothing outside it is looked at."""
    return _answer(services, call, "live")


async def _answer_ready(services: Services, call: Call) -> Reply:
    """Say whether the group serves and is not about to stop."""
    return _answer(services, call, "ready")


async def _show_metrics(services: Services, call: Call) -> Reply:
    """Return the counters of all processes."""
    if not call.principal.sees_whole:
        raise problem(
            "forbidden", "they count for all tenants together: use a token of the default one, or of every one"
        )
    return Reply((await services.metrics()).encode(), media_type=METRICS_TYPE)


async def _show_problem(services: Services, call: Call) -> Reply:
    """Explain a type of problem."""
    kind = CATALOGUE.get(call.path_values["name"])
    if kind is None:
        raise problem("not-found", "problem type")
    return reply(ProblemView(kind.type_uri, kind.title, kind.status, kind.advice))


async def _show_description(services: Services, call: Call) -> Reply:
    """Return the OpenAPI document of this API."""
    return Reply(services.description)


def _answer(services: Services, call: Call, probe: Probe) -> Reply:
    query = call.read_query(ProbeQuery)
    report = services.health()
    faults = report.faults(probe)
    told: tuple[ServiceView, ...] = ()
    if query.verbose is not None:
        told = tuple([ServiceView(one.name, one.is_serving, one.reasons) for one in report.services])
    return reply(ProbeView(not faults, report.phase, faults, told), status=503 if faults else 200)


OBSERVE_OPERATIONS = (
    Operation(
        operation_id="getOpenApi",
        method="GET",
        path="/openapi.json",
        summary="This description",
        access="public",
        handle=_show_description,
    ),
    Operation(
        operation_id="startupz",
        method="GET",
        path="/startupz",
        summary="Whether every process has started",
        access="public",
        handle=_answer_startup,
        query=ProbeQuery,
        answer=ProbeView,
        further_statuses={503: "Not now, with the reasons"},
    ),
    Operation(
        operation_id="livez",
        method="GET",
        path="/livez",
        summary="Whether the main process makes progress",
        access="public",
        handle=_answer_live,
        query=ProbeQuery,
        answer=ProbeView,
        further_statuses={503: "Not now, with the reasons"},
    ),
    Operation(
        operation_id="readyz",
        method="GET",
        path="/readyz",
        summary="Whether the group serves",
        access="public",
        handle=_answer_ready,
        query=ProbeQuery,
        answer=ProbeView,
        further_statuses={503: "Not now, with the reasons"},
    ),
    Operation(
        operation_id="metrics",
        method="GET",
        path="/metrics",
        summary="Counters of all processes for Prometheus",
        access="viewer",
        handle=_show_metrics,
        answer_media_type=METRICS_TYPE,
    ),
    Operation(
        operation_id="getProblemType",
        method="GET",
        path="/problems/{name}",
        summary="Explain a type of problem",
        access="public",
        handle=_show_problem,
        answer=ProblemView,
        problems=("not-found",),
    ),
)
