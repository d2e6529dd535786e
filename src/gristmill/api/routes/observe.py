"""Probes, counters, and the catalogue of problems."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from gristmill.api.calls import Call, Operation, Reply, reply
from gristmill.api.problems import CATALOGUE, problem
from gristmill.api.services import Services
from gristmill.domain.front.health import Probe

__all__ = ["OBSERVE_OPERATIONS"]

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class ProbeQuery(msgspec.Struct, frozen=True, kw_only=True):
    """How much to tell."""

    verbose: Annotated[str, Meta(max_length=8, description="present: the state of each service")] | None = None


class ServiceView(msgspec.Struct, frozen=True):
    """One service; the empty name is the whole group."""

    name: str
    serving: bool
    reasons: tuple[str, ...]


class ProbeView(msgspec.Struct, frozen=True, omit_defaults=True):
    """Answer of a probe: 200 when it holds, else 503 with the reasons."""

    ok: bool
    phase: str
    reasons: tuple[str, ...]
    services: tuple[ServiceView, ...] = ()


class ProblemView(msgspec.Struct, frozen=True):
    """An entry of the catalogue."""

    type: str
    title: str
    status: int
    advice: str


async def answer_startup(services: Services, call: Call) -> Reply:
    """Say whether every process has started."""
    return _answer(services, call, "startup")


async def answer_live(services: Services, call: Call) -> Reply:
    """Say whether the main process makes progress; nothing outside it is looked at."""
    return _answer(services, call, "live")


async def answer_ready(services: Services, call: Call) -> Reply:
    """Say whether the group serves and is not about to stop."""
    return _answer(services, call, "ready")


async def show_metrics(services: Services, call: Call) -> Reply:
    """Return the counters of all processes."""
    return Reply((await services.metrics()).encode(), media_type=METRICS_TYPE)


async def show_problem(services: Services, call: Call) -> Reply:
    """Explain a type of problem."""
    kind = CATALOGUE.get(call.path_values["name"])
    if kind is None:
        raise problem("not-found", "problem type")
    return reply(ProblemView(kind.type_uri, kind.title, kind.status, kind.advice))


async def show_description(services: Services, call: Call) -> Reply:
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
        handle=show_description,
    ),
    Operation(
        operation_id="startupz",
        method="GET",
        path="/startupz",
        summary="Whether every process has started",
        access="public",
        handle=answer_startup,
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
        handle=answer_live,
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
        handle=answer_ready,
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
        handle=show_metrics,
        answer_media_type=METRICS_TYPE,
    ),
    Operation(
        operation_id="getProblemType",
        method="GET",
        path="/problems/{name}",
        summary="Explain a type of problem",
        access="public",
        handle=show_problem,
        answer=ProblemView,
        problems=("not-found",),
    ),
)
