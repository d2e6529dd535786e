"""What runs here: plans with their tasks, and what feeds them."""

from __future__ import annotations

import msgspec

from gristmill.api.calls import Call, Operation, Reply, reply
from gristmill.api.problems import problem
from gristmill.api.services import Services
from gristmill.plans.graph import Graph
from gristmill.plans.names import advise_known
from gristmill.plans.plan import Writes
from gristmill.plans.registry import RegisteredPlan

__all__ = ["PLAN_OPERATIONS"]


class PlanTaskView(msgspec.Struct, frozen=True):
    """A task of a plan. `requires` and `prefers` are data it takes, `after` and `after_any` what it waits for."""

    name: str
    operator: str
    revision: str
    requires: tuple[str, ...]
    prefers: tuple[str, ...]
    after: tuple[str, ...]
    after_any: tuple[str, ...]


class PlanView(msgspec.Struct, frozen=True):
    """A plan with its tasks in a topological order."""

    key: str
    version: int
    flow: str
    writes: Writes
    generators: tuple[str, ...]
    tasks: tuple[PlanTaskView, ...]


class PlansView(msgspec.Struct, frozen=True):
    """All plans that this group can run."""

    plans: list[PlanView]


class GeneratorView(msgspec.Struct, frozen=True):
    """What feeds runs, and how far it is behind: records not delivered yet, under way, set aside, given up."""

    type: str
    topic: str
    source: str
    kind: str
    plans: tuple[str, ...]
    weight: float
    max_qps: float | None
    undelivered: int
    in_flight: int
    waiting: int
    dead: int
    oldest_age_ms: int


class GeneratorsView(msgspec.Struct, frozen=True):
    """All generators of this group."""

    generators: list[GeneratorView]


async def list_plans(services: Services, call: Call) -> Reply:
    """List plans with their tasks."""
    return reply(PlansView([_view(services, key) for key in sorted(services.registry.plans)]))


async def show_plan(services: Services, call: Call) -> Reply:
    """Show a plan."""
    key = call.path_values["plan"]
    if key not in services.registry.plans:
        raise problem("not-found", f"plan {key[:128]!r} ({advise_known(key[:128], services.registry.plans)})")
    return reply(_view(services, key))


async def list_generators(services: Services, call: Call) -> Reply:
    """List generators with their lag."""
    views: list[GeneratorView] = []
    for generator in services.generators.values():
        lag = await services.log.lag(generator.topic, generator.type)
        views.append(
            GeneratorView(
                type=generator.type,
                topic=generator.topic,
                source=generator.source,
                kind=generator.kind,
                plans=generator.plans,
                weight=generator.weight,
                max_qps=generator.max_qps,
                undelivered=lag.undelivered,
                in_flight=lag.in_flight,
                waiting=lag.waiting,
                dead=lag.dead,
                oldest_age_ms=lag.oldest_age_ms,
            )
        )
    return reply(GeneratorsView(views))


def _view(services: Services, key: str) -> PlanView:
    plan: RegisteredPlan = services.registry.plans[key]
    fed_by = tuple([one.type for one in services.generators.values() if key in one.plans])
    return PlanView(key, plan.graph.version, plan.flow, plan.writes, fed_by, _tasks(plan.graph))


def _tasks(graph: Graph) -> tuple[PlanTaskView, ...]:
    def names(indexes: tuple[int, ...]) -> tuple[str, ...]:
        return tuple([graph.nodes[index].name for index in indexes])

    return tuple(
        [
            PlanTaskView(
                name=node.name,
                operator=node.operator.name,
                revision=node.operator.options.revision,
                requires=names(node.requires),
                prefers=names(node.prefers),
                after=names(node.after),
                after_any=names(node.after_any),
            )
            for node in graph.nodes
        ]
    )


PLAN_OPERATIONS = (
    Operation(
        operation_id="listPlans",
        method="GET",
        path="/v1/plans",
        summary="List plans with their tasks",
        access="viewer",
        handle=list_plans,
        answer=PlansView,
    ),
    Operation(
        operation_id="getPlan",
        method="GET",
        path="/v1/plans/{plan}",
        summary="Show a plan",
        access="viewer",
        handle=show_plan,
        answer=PlanView,
        problems=("not-found",),
    ),
    Operation(
        operation_id="listGenerators",
        method="GET",
        path="/v1/generators",
        summary="List what feeds plans, with its lag",
        access="viewer",
        handle=list_generators,
        answer=GeneratorsView,
    ),
)
