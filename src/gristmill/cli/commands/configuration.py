"""`gristmill check` and `gristmill config`: is everything sound, and which value holds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import msgspec
from cyclopts import App, Parameter

from gristmill.cli.app import EXIT_OK
from gristmill.cli.options import ConfigFile, FlowFiles, StateDir, as_texts, load
from gristmill.engine.messages.core.routes import RoutingTable
from gristmill.engine.messages.definitions.catalogue import load_routes
from gristmill.intake.sources.catalogue import read_folder
from gristmill.plans.names import advise_known
from gristmill.runtime.composition.flows import load_flows
from gristmill.runtime.composition.resources import find_providers, refuse_missing
from gristmill.runtime.settings_sources import Explained

__all__ = ["app", "check"]

app = App(name="config")


def check(
    *,
    flow: FlowFiles = (),
    rules: Annotated[
        tuple[Path, ...],
        Parameter(help="Rule file of the flow `screen`; may be repeated.", negative="", show_default=False),
    ] = (),
    routes: Annotated[
        tuple[Path, ...],
        Parameter(help="File of routes of records by their type; may be repeated.", negative="", show_default=False),
    ] = (),
    state: StateDir = None,
    config: ConfigFile = None,
) -> int:
    """Check settings, flows, Sources, rule files and routes without starting anything.

    Exit code 0: sound. 2: the message names what is wrong.
    """
    loaded = load(state=state, config=config)
    registry = load_flows(loaded.settings, flow_files=as_texts(flow)).registry
    refuse_missing(registry, find_providers())
    for path in rules:
        _check_rules(path)
    files = [load_routes(path) for path in routes]
    strangers = RoutingTable(files).plans() - registry.plans.keys()
    sources = read_folder(loaded.settings.sources.paths)
    print(f"settings: {len(loaded.origins)} set, the rest by default")
    for each in registry.flows:
        print(f"flow {each.name}: {len(each.plans)} plans, {len(each.generators)} generators")
    for path in rules:
        print(f"rules {path}: sound")
    for file in files:
        print(f"routes {file.business}: {len(file.routes)} types, sound")
    for source in sources:
        print(f"source {source.definition.address}: {len(source.rules)} fields, sound")
    for plan in sorted(strangers):
        print(f"note: routes name the plan {plan!r}, which no flow here has ({advise_known(plan, registry.plans)})")
    for warning in registry.warnings:
        print(f"note: {warning}")
    print("all sound")
    return EXIT_OK


@app.command(name="explain")
def _explain_settings(*, state: StateDir = None, config: ConfigFile = None) -> int:
    """Show every setting with its value, where that came from, and what it is for."""
    entries = load(state=state, config=config).explain()
    width = max(len(entry.key) for entry in entries)
    for entry in entries:
        print(f"{entry.key:<{width}}  {_format(entry)}  ({entry.origin})  {entry.description}")
    return EXIT_OK


@app.command(name="show")
def _show_settings(*, state: StateDir = None, config: ConfigFile = None) -> int:
    """Show the settings that hold, in the form of a settings file."""
    section = ""
    for entry in load(state=state, config=config).explain():
        start, _, name = entry.key.rpartition(".")
        if start != section:
            print(f"{chr(10) if section else ''}[{start}]")
            section = start
        print(f"{name} = {_format(entry)}")
    return EXIT_OK


def _check_rules(path: Path) -> None:
    from gristmill.flows.screen.files import load_rules

    load_rules(str(path))


def _write_table(value: Any) -> str:
    """Return a value as TOML writes it on one line."""
    if isinstance(value, dict):
        inside = ", ".join(f"{_write_table(name)} = {_write_table(part)}" for name, part in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    return msgspec.json.encode(value).decode()


def _format(entry: Explained) -> str:
    value = entry.value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return f"{value:.15g}"
    if isinstance(value, dict):
        return _write_table(msgspec.to_builtins(value))
    if isinstance(value, tuple):
        return "[" + ", ".join(f'"{part}"' for part in value) + "]"
    return f'"{value}"'
