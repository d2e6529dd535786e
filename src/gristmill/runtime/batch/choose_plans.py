"""Which plans a file goes through, and whether it can."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from gristmill.domain.errors import UsageError
from gristmill.intake.fields import TARGETS, FieldMap, fold_name
from gristmill.intake.reader import InputFile
from gristmill.plans.names import advise_known
from gristmill.plans.registry import Registry

__all__ = ["DEFAULT_PLAN", "choose_plans", "describe_work", "refuse_unmapped"]

DEFAULT_PLAN = "screen"


def choose_plans(registry: Registry, asked: Sequence[str], *, file_flows: Sequence[str]) -> tuple[str, ...]:
    """Return the plan keys: those asked for, else the only one of the flow files, else `screen`.

    Args:
        file_flows: names of the flows that came from files of the command line.
    Raises:
        UsageError: a plan is unknown, or the files hold several and none was asked for.
    """
    if asked:
        for key in asked:
            if key not in registry.plans:
                raise UsageError("plan key", value=key, advice=advise_known(key, registry.plans))
        return tuple(dict.fromkeys(asked))
    if file_flows:
        keys = [key for key, plan in registry.plans.items() if plan.flow in file_flows]
        if len(keys) != 1:
            advice = f"name one with --plan: {', '.join(keys) or 'there is none'}"
            raise UsageError("flow file does not hold exactly one plan", value=len(keys), advice=advice)
        return (keys[0],)
    if DEFAULT_PLAN not in registry.plans:
        raise UsageError("no plan given", advice=f"--plan KEY; {advise_known('', registry.plans)}")
    return (DEFAULT_PLAN,)


def describe_work(registry: Registry, plans: Sequence[str], *, flow_files: Sequence[str]) -> list[object]:
    """Return what decides the results of these plans; if it changes, equal input must be worked off again."""
    described: list[object] = []
    for key in plans:
        graph = registry.plans[key].graph
        tasks = [
            [node.name, node.operator.name, node.operator.options.revision, repr(sorted(node.config.items()))]
            for node in graph.nodes
        ]
        described.append([key, graph.version, tasks])
        for value in (value for node in graph.nodes for value in node.config.values()):
            if isinstance(value, str) and value and Path(value).is_file():
                # A rule file or a model: its name may stay while its content changes.
                described.append(_hash_file(value))
    return [described, [_hash_file(path) for path in flow_files]]


def _hash_file(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def refuse_unmapped(input_file: InputFile, fields: FieldMap) -> None:
    """Refuse a CSV file in which no column can be the text, or which lacks a mapped column.

    Raises:
        UsageError: names the columns that there are.
    """
    if not input_file.columns:
        return
    names = {fold_name(name): name for name in input_file.columns}
    for target in TARGETS:
        given = fields.given.get(target)
        if given is not None and fold_name(given) not in names:
            raise UsageError(f"column for {target}", value=given, advice=advise_known(given, input_file.columns))
    if "text" not in fields.given and not fields.candidates("text", names):
        columns = ", ".join(input_file.columns)
        advice = f"name it with --map text=COLUMN; columns: {columns}"
        raise UsageError("no column holds the text", value=str(input_file.path), advice=advice)
