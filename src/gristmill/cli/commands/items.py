"""`gristmill show` and `gristmill explain`: one item, and why it came out the way it did."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Annotated, Any

import msgspec
from cyclopts import Parameter
from rich.console import Console
from rich.table import Table

from gristmill.api.reading import Dossier, latest_runs, read_dossier
from gristmill.cli.app import EXIT_OK
from gristmill.cli.consoles import plain_console
from gristmill.cli.options import ConfigFile, StateDir, folder_of, load
from gristmill.domain.commit import StoredRun
from gristmill.domain.errors import UsageError
from gristmill.domain.front.label_fact import StandingLabel
from gristmill.domain.front.standing import strip_findings
from gristmill.domain.front.times import write_time
from gristmill.domain.item import thaw
from gristmill.runtime.loop import run_async
from gristmill.runtime.reading.lookup import find_items, open_for_reading
from gristmill.runtime.settings import Settings

__all__ = ["explain", "show"]

ItemName = Annotated[str, Parameter(help="Item id, or the id that the input uses.")]
EVENTS_SHOWN_MAX = 50


def show(item: ItemName, /, *, state: StateDir = None, config: ConfigFile = None) -> int:
    """Show an item: text, labels, fields."""
    return _with_dossier(item, state, config, _print_item)


def explain(item: ItemName, /, *, state: StateDir = None, config: ConfigFile = None) -> int:
    """Tell why each task of an item ran, was skipped or failed: times, attempts, causes."""
    return _with_dossier(item, state, config, _print_causes)


def _with_dossier(text: str, state: Path | None, config: Path | None, show: Callable[[Console, Dossier], None]) -> int:
    settings = load(state=state, config=config).settings
    console = plain_console()
    run_async(_look_up(text, settings, lambda dossier: show(console, dossier), console))
    return EXIT_OK


def _look_up(
    text: str, settings: Settings, show: Callable[[Dossier], None], console: Console
) -> Coroutine[Any, Any, None]:
    async def look_up() -> None:
        folder = folder_of(settings)
        async with open_for_reading(folder, settings) as store:
            found = await find_items(store, folder, text)
            if not found:
                advice = "no item has this id; a record that never became one is in `gristmill dlq quarantine`"
                raise UsageError("item", value=text, advice=advice)
            show(await read_dossier(store.state, store.front, found[0]))
            if len(found) > 1:
                others = ", ".join(str(item_id) for item_id in found[1:])
                console.print(f"\nOther sources use this id too; their items: {others}")

    return look_up()


def _print_item(console: Console, dossier: Dossier) -> None:
    item = dossier.item
    table = Table(show_header=False, box=None, padding=(0, 2))
    rows = {
        "item": str(item.item_id),
        "input id": item.input_id,
        "source": item.source,
        "kind": item.kind,
        "author": item.author or "",
        "created": write_time(item.created_at_ms) if item.created_at_ms is not None else "",
        "text": item.text,
    }
    for name, value in rows.items():
        table.add_row(name, value)
    for name, value in {**item.fields, **item.ext}.items():
        table.add_row(name, msgspec.json.encode(thaw(value)).decode())
    console.print(table)
    latest = latest_runs(dossier.runs)
    _print_labels(console, dossier.labels)
    for run in latest:
        for cell in run.cells:
            value = msgspec.json.encode(strip_findings(cell.value)).decode()
            console.print(f"  field {cell.field} by {cell.task} revision {cell.revision}: {value}")


def _print_labels(console: Console, labels: list[StandingLabel]) -> None:
    console.print("labels" if labels else "no labels")
    for standing in labels:
        label, fact = standing.label, standing.fact
        evidence = f" [{'; '.join(label.evidence)}]" if label.evidence else ""
        by = f"by {label.operator} revision {label.revision}"
        console.print(f"  {label.val} {label.score:.2f}: {label.reason}{evidence}, {by}")
        if fact is not None:
            said = "applied" if standing.holds else "negated: it does not hold"
            console.print(f"    {said}, {fact.actor} {write_time(fact.at_ms)}: {fact.reason}")


def _print_causes(console: Console, dossier: Dossier) -> None:
    item = dossier.item
    console.print(f"item {item.item_id}, input id {item.input_id} of {item.source}")
    console.print(f"text: {item.text}")
    for run in dossier.runs:
        _print_run(console, run)
    _print_labels(console, dossier.labels)
    console.print("events")
    for event in dossier.events[:EVENTS_SHOWN_MAX]:
        body = "" if event.body is None else msgspec.json.encode(event.body).decode()
        console.print(f"  {write_time(event.at_ms)} {event.kind} {body}")


def _print_run(console: Console, run: StoredRun) -> None:
    took_ms = run.ended_at_ms - run.started_at_ms
    console.print(
        f"\nrun of plan {run.plan} version {run.plan_version}: {run.status}, attempt {run.attempt}, "
        f"started {write_time(run.started_at_ms)}, took {took_ms} ms, record {run.position} of {run.generator}"
    )
    if run.reason or run.error:
        console.print(f"  why: {run.error or run.reason}")
    table = Table("task", "status", "attempts", "after ms", "took ms", "cause", box=None, padding=(0, 2))
    for task in run.tasks:
        times = (f"{task.started_after_us / 1000:.2f}", f"{task.duration_us / 1000:.2f}") if task.attempts else ("", "")
        table.add_row(task.task, task.status, str(task.attempts), *times, task.reason)
    console.print(table)
