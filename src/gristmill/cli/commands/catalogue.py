"""`gristmill plans` and `gristmill flows`: what there is to run."""

from __future__ import annotations

from typing import Annotated

import msgspec
from cyclopts import App, Parameter
from rich.table import Table

from gristmill.cli.app import EXIT_OK
from gristmill.cli.consoles import plain_console
from gristmill.cli.drawing import draw_graph
from gristmill.cli.options import ConfigFile, FlowFiles, as_texts, load
from gristmill.domain.errors import UsageError
from gristmill.plans.names import advise_known
from gristmill.plans.registry import Registry
from gristmill.runtime.composition.flows import load_flows

__all__ = ["flows_app", "plans_app"]

plans_app = App(name="plans")
flows_app = App(name="flows")

PlanKey = Annotated[str, Parameter(help="Plan key.")]


@plans_app.command(name="list")
def _list_plans(*, flow: FlowFiles = (), config: ConfigFile = None) -> int:
    """List the plans of all enabled flows."""
    table = Table("plan", "version", "flow", "tasks", "needs", box=None, padding=(0, 2))
    for key, plan in _registry(flow, config).plans.items():
        needs = ", ".join(f"{need.port.__name__} {need.role}" for need in plan.graph.needs)
        table.add_row(key, str(plan.graph.version), plan.flow, str(len(plan.graph.nodes)), needs)
    plain_console().print(table)
    return EXIT_OK


@plans_app.command(name="show")
def _show_plan(
    key: Annotated[str, Parameter(help="Plan key.")], /, *, flow: FlowFiles = (), config: ConfigFile = None
) -> int:
    """Draw the graph of a plan."""
    registry = _registry(flow, config)
    if key not in registry.plans:
        raise UsageError("plan key", value=key, advice=advise_known(key, registry.plans))
    print(draw_graph(registry.plans[key]))
    return EXIT_OK


@flows_app.command(name="list")
def _list_flows(
    *,
    json: Annotated[bool, Parameter(negative="", help="Print one JSON object.")] = False,
    flow: FlowFiles = (),
    config: ConfigFile = None,
) -> int:
    """List flows with their plans and generators."""
    registry = _registry(flow, config)
    if json:
        print(msgspec.json.encode(_describe(registry)).decode())
        return EXIT_OK
    table = Table("flow", "writes", "plans", "generators", box=None, padding=(0, 2))
    for each in registry.flows:
        plans = ", ".join(plan.key for plan in each.plans)
        table.add_row(each.name, each.writes, plans, ", ".join(generator.type for generator in each.generators))
    plain_console().print(table)
    return EXIT_OK


def _describe(registry: Registry) -> dict[str, object]:
    return {
        "flows": [
            {
                "name": each.name,
                "writes": each.writes,
                "plans": [plan.key for plan in each.plans],
                "generators": [generator.type for generator in each.generators],
            }
            for each in registry.flows
        ],
        "plans": list(registry.plans),
        "generators": list(registry.generators),
    }


def _registry(flow: FlowFiles, config: ConfigFile) -> Registry:
    return load_flows(load(config=config).settings, flow_files=as_texts(flow)).registry
