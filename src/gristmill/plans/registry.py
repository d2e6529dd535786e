"""Finds flows, checks them against each other, and refuses to start on what cannot work."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import re
import sys
import traceback
from collections.abc import Sequence
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType

import msgspec

from gristmill.domain.errors import ConfigError
from gristmill.plans.compile import compile_plan
from gristmill.plans.graph import Graph
from gristmill.plans.manifest import FRAMEWORK_MODULES
from gristmill.plans.names import advise_known
from gristmill.plans.plan import Flow, Generator, Plan, Writes, check_generator
from gristmill.plans.resources import Need

__all__ = [
    "RegisteredPlan",
    "Registry",
    "build_registry",
    "check_framework_modules",
    "discover_flows",
    "load_flow_file",
]

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
        types: generator types that configuration asks for; each must be registered, and there must be one.
            None where nothing is to be fed by generators (a file, a test).
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
                where = " and ".join(repr(name) for name in dict.fromkeys((plans[plan.key].flow, flow.name)))
                thing = f"plan key is used twice, in flow {where}"
                raise ConfigError(thing, value=plan.key, advice="rename one of them")
            plans[plan.key] = RegisteredPlan(compile_plan(plan), flow.name, flow.writes)
    generators = _collect_generators(chosen, plans)
    if types is not None and not types:
        advice = f"without one there is nothing to do; {advise_known('', generators)}"
        raise ConfigError("configuration asks for no generator", advice=advice)
    for wanted in types or ():
        if wanted not in generators:
            raise ConfigError("no flow registers generator type", value=wanted, advice=advise_known(wanted, generators))
    fed = {key for generator in generators.values() for key in generator.plans}
    warnings = tuple(f"plan {key!r} is fed by no generator" for key in plans if key not in fed)
    return Registry(tuple(chosen), plans, generators, warnings)


def discover_flows() -> list[Flow]:
    """Return the flows of every installed package behind the entry point group `gristmill.flows`, by entry name.

    Raises:
        ConfigError: an entry point does not import or is not a Flow.
    """
    found: list[Flow] = []
    for entry in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda entry: entry.name):
        try:
            flow = entry.load()
        except Exception as error:
            thing = f"flow {entry.name!r} of {entry.value!r} cannot be loaded"
            raise ConfigError(thing, advice=f"{type(error).__name__}: {error}") from error
        if not isinstance(flow, Flow):
            advice = "point it at a module-level Flow(...)"
            raise ConfigError(f"entry point {entry.name!r} is not a Flow", value=entry.value, advice=advice)
        if not any(flow is other for other in found):  # One package can be listed twice while it is edited in place.
            found.append(flow)
    return found


def load_flow_file(path: Path) -> list[Flow]:
    """Import a Python file and return the Flows it holds; loose Plans become a flow named after the file.

    Modules beside the file can be imported by it, as with a script. Each call imports it anew.

    Raises:
        ConfigError: no such file, it does not import, it holds neither, or a Plan that its Flows leave out.
    """
    module = _import_file(path)
    members = list({id(member): member for member in vars(module).values()}.values())
    flows = [member for member in members if isinstance(member, Flow)]
    plans = [member for member in members if isinstance(member, Plan)]
    registered = {id(plan) for flow in flows for plan in flow.plans}
    for plan in plans:
        if flows and id(plan) not in registered:
            thing = f"plan {plan.key!r} in {path} stands beside a Flow that leaves it out"
            raise ConfigError(thing, advice=f"add it to Flow({flows[0].name!r}, plans=[...])")
    if flows:
        return flows
    if not plans:
        advice = "define plan = Plan('name', tasks=[...]) at module level"
        raise ConfigError("flow file holds neither a Flow nor a Plan", value=str(path), advice=advice)
    return [Flow(_name_after(path), plans=plans)]


def _name_after(path: Path) -> str:
    return re.sub(r"[^\w.-]", "_", path.stem)


def _import_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise ConfigError("flow file does not exist", value=str(path), advice="give the path of a Python file")
    # A name of its own, since `json.py` must not take the place of a module that everybody uses.
    name = "gristmill_flow_file_" + re.sub(r"\W", "_", str(path.resolve().with_suffix("")))
    spec = importlib.util.spec_from_file_location(name, path.resolve())
    if spec is None or spec.loader is None:
        raise ConfigError("flow file is not a Python file", value=str(path), advice="it should end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.append(folder)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        sys.modules.pop(name, None)
        thing = f"flow file {path}{_line_of(error, path)} does not import"
        raise ConfigError(thing, advice=f"{type(error).__name__}: {error}") from error
    return module


def _line_of(error: BaseException, path: Path) -> str:
    """Say which line of the file an error came from; a syntax error says it itself."""
    file = path.resolve()
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename) == file]
    return f", line {lines[-1]}," if lines else ""


def check_framework_modules() -> None:
    """Refuse a module in a framework room that the shipped manifest does not list.

    Raises:
        ConfigError: names the room and the module.
    """
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
    for flow in flows:
        for generator in flow.generators:
            kind = generator.type
            if not kind:
                thing = f"generator of flow {flow.name!r} without a type"
                raise ConfigError(thing, value=generator.topic, advice="Generator(type=...)")
            if generators.setdefault(kind, generator) != generator:
                thing = f"two generators have one type, the second in flow {flow.name!r}"
                raise ConfigError(thing, value=kind, advice="rename one of them")
            check_generator(generator)
            for key in generator.plans:
                if key not in plans:
                    raise ConfigError(f"plan key of generator {kind!r}", value=key, advice=advise_known(key, plans))
    return generators
