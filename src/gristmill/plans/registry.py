"""Finds flows, checks them against each other, and refuses to start on what cannot work."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import sys
from collections.abc import Sequence
from importlib.metadata import entry_points
from pathlib import Path

import msgspec

from gristmill.domain.errors import ConfigError, GristmillError
from gristmill.plans.compile import compile_plan
from gristmill.plans.graph import Graph
from gristmill.plans.manifest import FRAMEWORK_MODULES
from gristmill.plans.names import advise_known
from gristmill.plans.plan import Flow, Generator, Plan, Writes
from gristmill.plans.resources import Need

__all__ = ["RegisteredPlan", "Registry", "build_registry", "discover_flows", "load_flow_file"]

ENTRY_POINT_GROUP = "gristmill.flows"


class RegisteredPlan(msgspec.Struct, frozen=True, eq=False):
    """A compiled plan with the flow that it belongs to."""

    graph: Graph
    flow: str
    writes: Writes


class Registry(msgspec.Struct, frozen=True, eq=False):
    """All enabled flows, checked: plans by key, generators by type. `warnings` are for a person to read."""

    flows: tuple[Flow, ...]
    plans: dict[str, RegisteredPlan]
    generators: dict[str, Generator]
    warnings: tuple[str, ...]

    def needs(self) -> dict[Need, str]:
        """Return every resource needed, with the key of a plan that needs it."""
        return {need: key for key, plan in self.plans.items() for need in plan.graph.needs}


def build_registry(
    flows: Sequence[Flow], *, enabled: Sequence[str] | None = None, types: Sequence[str] | None = None
) -> Registry:
    """Check flows against each other and return them compiled.

    Args:
        enabled: names of the flows to take, all by default.
        types: generator types that configuration asks for; each must be registered.
    Raises:
        ConfigError: see the message; it names the culprit and the known names.
    """
    check_framework_modules()
    chosen = _choose(flows, enabled)
    plans: dict[str, RegisteredPlan] = {}
    for flow in chosen:
        for plan in flow.plans:
            _refuse_framework(flow, plan)
            if plan.key in plans:
                thing = f"plan key of flows {plans[plan.key].flow!r} and {flow.name!r} is used twice"
                raise ConfigError(thing, value=plan.key, advice="rename one of them")
            plans[plan.key] = RegisteredPlan(compile_plan(plan), flow.name, flow.writes)
    generators = _collect_generators(chosen, plans)
    for wanted in types or ():
        if wanted not in generators:
            raise ConfigError("generator type", value=wanted, advice=advise_known(wanted, generators))
    fed = {key for generator in generators.values() for key in generator.plans}
    warnings = tuple(f"plan {key!r} is fed by no generator" for key in plans if key not in fed)
    return Registry(tuple(chosen), plans, generators, warnings)


def discover_flows() -> list[Flow]:
    """Return the flows of every installed package behind the entry point group `gristmill.flows`, by name."""
    found: dict[str, Flow] = {}
    for entry in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda entry: entry.name):
        try:
            flow = entry.load()
        except GristmillError as error:
            raise ConfigError(f"flow {entry.name!r} of {entry.value} cannot be loaded", advice=str(error)) from error
        if not isinstance(flow, Flow):
            raise ConfigError(f"entry point {entry.name!r} is not a Flow", value=repr(flow))
        found[flow.name] = flow
    return list(found.values())


def load_flow_file(path: Path) -> list[Flow]:
    """Import a Python file and return the Flows it holds; loose Plans become a flow named after the file.

    Raises:
        ConfigError: no such file, it does not import, or it holds neither.
    """
    if not path.is_file():
        raise ConfigError("flow file does not exist", value=str(path), advice="give the path of a Python file")
    name = path.stem
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ConfigError("flow file is not a Python file", value=str(path), advice="it should end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        sys.modules.pop(name, None)
        raise ConfigError(f"flow file {path} does not import", value=f"{type(error).__name__}: {error}") from error
    members = list(vars(module).values())
    flows = [member for member in members if isinstance(member, Flow)]
    if flows:
        return flows
    plans = [member for member in members if isinstance(member, Plan)]
    if not plans:
        advice = "define plan = Plan('name', tasks=[...]) at module level"
        raise ConfigError("flow file holds neither a Flow nor a Plan", value=str(path), advice=advice)
    return [Flow(name, plans=plans)]


def check_framework_modules() -> None:
    """Refuse a module in a framework room that the shipped manifest does not list."""
    for room, listed in FRAMEWORK_MODULES.items():
        package = importlib.import_module(room)
        present = {module.name for module in pkgutil.iter_modules(package.__path__)}
        for stray in sorted(present - listed):
            advice = "framework rooms hold no business rule; move it into a flow package"
            raise ConfigError("stray module in a framework room", value=f"{room}.{stray}", advice=advice)


def _choose(flows: Sequence[Flow], enabled: Sequence[str] | None) -> list[Flow]:
    by_name: dict[str, Flow] = {}
    for flow in flows:
        if by_name.setdefault(flow.name, flow) is not flow:
            raise ConfigError("two flows have one name", value=flow.name, advice="rename one of them")
    if enabled is None:
        return list(by_name.values())
    for name in enabled:
        if name not in by_name:
            raise ConfigError("flows.enabled", value=name, advice=advise_known(name, by_name))
    return [flow for name, flow in by_name.items() if name in enabled]


def _refuse_framework(flow: Flow, plan: Plan) -> None:
    for placement in plan.placements:
        module = placement.operator.function.__module__
        if any(module == room or module.startswith(f"{room}.") for room in FRAMEWORK_MODULES):
            advice = "framework rooms hold no business rule; move the task into a flow package"
            raise ConfigError(f"task {placement.name!r} of flow {flow.name!r} lives in", value=module, advice=advice)


def _collect_generators(flows: Sequence[Flow], plans: dict[str, RegisteredPlan]) -> dict[str, Generator]:
    generators: dict[str, Generator] = {}
    for generator in (generator for flow in flows for generator in flow.generators):
        kind = generator.type
        if not kind:
            raise ConfigError("generator without a type", value=generator.topic, advice="Generator(type=...)")
        if generators.setdefault(kind, generator) is not generator:
            raise ConfigError("two generators have one type", value=kind, advice="rename one of them")
        if not generator.weight > 0:
            raise ConfigError(f"weight of generator {kind!r}", value=generator.weight, advice="use a number above 0")
        if generator.max_qps is not None and not generator.max_qps > 0:
            raise ConfigError(f"max_qps of generator {kind!r}", value=generator.max_qps, advice="above 0, or None")
        if not generator.plans:
            raise ConfigError(f"generator {kind!r} has no plan", advice="Generator(plans=('key',))")
        for key in generator.plans:
            if key not in plans:
                raise ConfigError(f"plan key of generator {kind!r}", value=key, advice=advise_known(key, plans))
    return generators
