"""What runs here: plans with their tasks, and what feeds them."""

from __future__ import annotations

from gristmill.api.calls import Call, Operation, Reply, reply
from gristmill.api.problems import problem
from gristmill.api.routes.generators import WHOLE, view_generator
from gristmill.api.services import Services
from gristmill.api.shapes.plans import GeneratorsView, PlansView, PlanTaskView, PlanView
from gristmill.plans.graph import Graph
from gristmill.plans.names import advise_known
from gristmill.plans.registry import RegisteredPlan

__all__ = ["PLAN_OPERATIONS"]


async def _list_plans(services: Services, call: Call) -> Reply:
    """List plans with their tasks."""
    return reply(PlansView([_view(services, key) for key in sorted(services.registry.plans)]))


async def _show_plan(services: Services, call: Call) -> Reply:
    """Show a plan."""
    key = call.path_values["plan"]
    if key not in services.registry.plans:
        raise problem("not-found", f"plan {key[:128]!r} ({advise_known(key[:128], services.registry.plans)})")
    return reply(_view(services, key))


async def _list_generators(services: Services, call: Call) -> Reply:
    """List generators with their lag."""
    if not call.principal.sees_whole:
        raise problem("forbidden", WHOLE)
    return reply(GeneratorsView([await view_generator(services, one) for one in services.generators.values()]))


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
        handle=_list_plans,
        answer=PlansView,
    ),
    Operation(
        operation_id="getPlan",
        method="GET",
        path="/v1/plans/{plan}",
        summary="Show a plan",
        access="viewer",
        handle=_show_plan,
        answer=PlanView,
        problems=("not-found",),
    ),
    Operation(
        operation_id="listGenerators",
        method="GET",
        path="/v1/generators",
        summary="List what feeds plans, with its lag",
        access="viewer",
        handle=_list_generators,
        answer=GeneratorsView,
    ),
)
