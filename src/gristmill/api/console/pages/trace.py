"""The trace of one item: what it is, what was found and why, who said what about it, and everything that happened."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from markupsafe import Markup
from msgspec import Meta

from gristmill.api.calls import Call
from gristmill.api.console.graph.bars import draw_span
from gristmill.api.console.graph.drawing import draw_plan, show_duration
from gristmill.api.console.graph.drawn_core import DrawnPlan, compose_drawn_run
from gristmill.api.console.page import Console, Page, Redirect, View, read_form
from gristmill.api.problems import ProblemRaised, problem
from gristmill.api.reading import Dossier, decide_status, latest_runs
from gristmill.api.reading.trace import PEERS_MAX, Trace, Tracer
from gristmill.api.routes.items import read_visible
from gristmill.api.routes.labels import judge_label
from gristmill.api.shapes.judging import ApplyRequest, NegateRequest
from gristmill.api.views.items import compute_etag
from gristmill.domain.commit import StoredRun
from gristmill.domain.errors import UsageError
from gristmill.domain.front.label_fact import LabelFact
from gristmill.domain.front.standing import strip_findings
from gristmill.domain.ids import RunId
from gristmill.domain.item import Item, thaw
from gristmill.domain.log import StoredRecord
from gristmill.operators.media import find_references, show_reference

__all__ = ["TRACE_PAGES"]

ITEMS = "/console/items"
TEMPLATE = "trace/page.html"
RECORD_CHARS_MAX = 16_384
TEXT_CHARS_MAX = 65_536
"""Of an item's text, which takes some milliseconds; all of it is in the answer of the API."""

REASON_TAKEN_BACK = "taken back"
BLANK_FORM = {"act": "", "val": "", "reason": ""}
FAULT_KINDS = ("validation", "conflict", "precondition-failed")
FAULT_TEXTS = {"reason": "Give a reason.", "val": "A label is a short name of a to z and hyphens."}
"""Field of the form -> what is wrong with it, for people."""


class _TraceQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which run is drawn, the newest by default; and the label that was just judged, to take it back."""

    run: Annotated[str, Meta(max_length=64)] = ""
    judged: Annotated[str, Meta(max_length=128)] = ""


class _Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """A form about one label. `seen` is the ETag of the item as the page has shown it."""

    act: str
    val: str
    reason: str = ""
    seen: str = "*"


async def _show(console: Console, call: Call) -> View:
    query = call.read_query(_TraceQuery)
    dossier = await _try_read(console, call)
    if dossier is None:
        return await _show_pending(console, call)
    return await _view(console, call, dossier, query)


async def _judge(console: Console, call: Call) -> View | Redirect:
    """Say that a label holds or does not, as the API does; what is wrong with it is told on the page itself."""
    dossier = await read_visible(console.services, call)
    form = await read_form(call)
    try:
        said = msgspec.convert(form, _Judgement)
        fields = {"val": said.val.strip(), "reason": said.reason.strip()}
        shape: type[NegateRequest | ApplyRequest] = NegateRequest if said.act == "negate" else ApplyRequest
        await judge_label(console.services, call.principal, dossier, msgspec.convert(fields, shape), etag=said.seen)
    except (msgspec.ValidationError, ProblemRaised) as error:
        if isinstance(error, ProblemRaised) and error.kind.name not in FAULT_KINDS:
            raise
        return await _view(
            console, call, dossier, _TraceQuery(), fault=_tell_fault(error), form=form, status=_status(error)
        )
    return Redirect(f"{ITEMS}/{dossier.item.item_id}?judged={said.val.strip()}")


async def _find_run(console: Console, call: Call) -> Redirect:
    """Lead to the item of a run, with that run drawn."""
    run_id = call.path_values["run_id"].lower()
    try:
        item_id = await console.services.front.listing.item_of_run(RunId(run_id))
    except UsageError:
        item_id = None
    if item_id is not None:
        item = await console.services.state.item(item_id)
        if item is not None and call.principal.sees(item.tenant):
            return Redirect(f"{ITEMS}/{item_id}?run={run_id}#run")
    raise problem("not-found", f"run {run_id[:64]!r}, or it is among the old ones that only their item leads to")


async def _try_read(console: Console, call: Call) -> Dossier | None:
    """Return the item, None where it was not processed yet."""
    if await console.services.state.item(call.item_id()) is None:
        return None
    return await read_visible(console.services, call)


async def _show_pending(console: Console, call: Call) -> View:
    item_id = call.item_id()
    key = (await console.services.state.input_keys([item_id])).get(item_id)
    if key is None or not call.principal.sees(key.tenant):
        raise problem("not-found", f"item {item_id}")
    return View("trace/pending.html", title=f"Item {item_id}", item_id=str(item_id), key=key)


async def _view(
    console: Console,
    call: Call,
    dossier: Dossier,
    query: _TraceQuery,
    *,
    fault: str = "",
    form: dict[str, str] | None = None,
    status: int = 200,
) -> View:
    services = console.services
    trace = await Tracer(services.log, services.front, services.generators).trace(dossier, sees=call.principal.sees)
    item = dossier.item
    return View(
        TEMPLATE,
        title=f"Item {item.input_id or item.item_id}",
        status=status,
        item=item,
        text=item.text[:TEXT_CHARS_MAX],
        item_id=str(item.item_id),
        trace=trace,
        standing=decide_status(dossier.runs),
        labels=dossier.labels,
        pictures=[show_reference(one) for one in find_references(item)],
        further=_show_fields(item),
        cells=_list_cells(dossier.runs),
        run=_draw_run(console, trace, _choose(dossier.runs, query.run)),
        runs=dossier.runs[::-1],
        peers_max=PEERS_MAX,
        etag=compute_etag(dossier),
        judged=_find_judged(dossier, query.judged),
        taken_back=REASON_TAKEN_BACK,
        fault=fault,
        form={**BLANK_FORM, **(form or {})},
    )


def _choose(runs: list[StoredRun], wanted: str) -> StoredRun | None:
    newest = runs[-1] if runs else None
    return next((run for run in runs if run.run_id == wanted), newest)


def _draw_run(console: Console, trace: Trace, run: StoredRun | None) -> dict[str, Any] | None:
    """Return a run with its graph and the table of its tasks, on one scale of time."""
    if run is None:
        return None
    plan = console.services.registry.plans.get(run.plan)
    drawn = compose_drawn_run(run, plan.graph if plan is not None else None)
    whole_us = max((task.started_after_us + task.duration_us for task in drawn.tasks), default=0)
    return {
        "run": run,
        "drawn": drawn,
        "graph": Markup(draw_plan(drawn, name="graph")),
        "whole": show_duration(whole_us),
        "tasks": _list_tasks(drawn, run, whole_us),
        "record": _show_record(trace.records.get(run.position)),
    }


def _list_tasks(drawn: DrawnPlan, run: StoredRun, whole_us: int) -> list[dict[str, Any]]:
    waits: dict[int, list[str]] = {}
    for arrow in drawn.arrows:
        waits.setdefault(arrow.target, []).append(drawn.tasks[arrow.source].name + ("?" if arrow.is_optional else ""))
    return [
        {
            "task": task,
            "took": show_duration(task.duration_us) if task.attempts else "",
            "after": show_duration(task.started_after_us) if task.attempts else "",
            "span": Markup(draw_span(task.started_after_us, task.duration_us, whole_us, status=task.status))
            if task.attempts
            else "",
            "waits_for": waits.get(index, []),
            "labels": list(dict.fromkeys(label.val for label in run.labels if label.task == task.name)),
        }
        for index, task in enumerate(drawn.tasks)
    ]


def _list_cells(runs: list[StoredRun]) -> list[dict[str, Any]]:
    """Return the newest value of every field with what wrote it."""
    cells = {cell.field: (run, cell) for run in latest_runs(runs) for cell in run.cells}
    return [
        {"field": field, "value": _pretty(strip_findings(cell.value)), "cell": cell, "run": run}
        for field, (run, cell) in sorted(cells.items())
    ]


def _show_fields(item: Item) -> list[tuple[str, str]]:
    return [(name, _pretty(value)) for name, value in {**item.fields, **item.ext}.items()]


def _show_record(record: StoredRecord | None) -> dict[str, Any] | None:
    """Return a record as text, its JSON set out in lines where it is some."""
    if record is None:
        return None
    try:
        text = msgspec.json.format(record.value, indent=2).decode()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        text = record.value.decode("utf-8", "replace")
    return {"record": record, "text": text[:RECORD_CHARS_MAX], "is_cut": len(text) > RECORD_CHARS_MAX}


def _pretty(value: Any) -> str:
    thawed = thaw(value)
    text = thawed if isinstance(thawed, str) else msgspec.json.format(msgspec.json.encode(thawed), indent=2).decode()
    return text if len(text) <= RECORD_CHARS_MAX else f"{text[:RECORD_CHARS_MAX]} …"


def _find_judged(dossier: Dossier, val: str) -> LabelFact | None:
    """Return the last word about a label that was just judged, so that it can be taken back at once."""
    return next((fact for fact in reversed(dossier.facts) if fact.val == val), None)


def _tell_fault(error: msgspec.ValidationError | ProblemRaised) -> str:
    if isinstance(error, ProblemRaised):
        if error.kind.name == "precondition-failed":
            return (
                "Somebody has judged this item, or it was run again, since you opened it. Look once more, then say it."
            )
        faults = error.document.errors or ()
        return "; ".join(fault.message for fault in faults) or error.document.detail or error.document.title
    message, _, place = str(error).partition(" - at `$.")
    return FAULT_TEXTS.get(place.rstrip("`"), message)


def _status(error: msgspec.ValidationError | ProblemRaised) -> int:
    return error.document.status if isinstance(error, ProblemRaised) else 400


TRACE_PAGES = (
    Page(
        name="consoleItem",
        path=f"{ITEMS}/{{item_id}}",
        title="Item",
        access="viewer",
        handle=_show,
        section="consoleItems",
    ),
    Page(
        name="consoleJudge",
        path=f"{ITEMS}/{{item_id}}",
        title="Item",
        access="reviewer",
        handle=_judge,
        method="POST",
        section="consoleItems",
    ),
    Page(
        name="consoleRun",
        path="/console/runs/{run_id}",
        title="Run",
        access="viewer",
        handle=_find_run,
        section="consoleItems",
    ),
)
