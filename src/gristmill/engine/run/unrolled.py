"""What is done once for each task of a plan on the short way, written out without a loop.

A loop over twelve small tasks costs as much as the tasks do: unpacking what it goes over, indexing, jumping back. So
the text of three functions is made from the steps, once for each plan, as `dataclasses` makes an `__init__`. For two
tasks, of which the second takes the result of the first, they read:

    def written_out(slots, note, now_ns):
        r0 = f0(slots[0])
        if type(r0) is not t0: return r0
        slots[3] = r0
        note(now_ns())
        r1 = f1(r0)
        ...
        return WHOLE

    def written_out(origin_ns, ends_ns):
        e0, e1, = ends_ns
        u0 = (e0 - origin_ns) // 1000
        u1 = (e1 - origin_ns) // 1000
        return (TaskReport(n0, 'done', 1, 0, u0), TaskReport(n1, 'done', 1, u0, u1 - u0),)

    def written_out(slots):
        return (Cell(a0, slots[3], b0, c0, d0), Cell(a1, slots[4], b1, c1, d1),)

Nothing that an author wrote gets into the text: functions, types and names are globals of it, known by their index.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gristmill.domain.item import Cell
from gristmill.domain.run import TaskReport
from gristmill.engine.run.steps import Slots, Step

__all__ = ["NS_PER_US", "WHOLE", "CallAll", "unroll_calls", "unroll_cells", "unroll_reports"]

NS_PER_US = 1_000

WHOLE = object()
"""Says that every call gave what it promises."""

CallAll = Callable[[Slots, Callable[[int], None], Callable[[], int]], Any]


def unroll_calls(steps: Sequence[Step]) -> CallAll:
    """Return a function that calls one step after the other and puts the results into the slots.

    It notes when each call that gave what it promises was over. At the first that gave anything else it returns that;
    what a call raises, it raises.
    """
    held = {step.slot: f"r{index}" for index, step in enumerate(steps)}
    lines: list[str] = []
    known: dict[str, Any] = {"WHOLE": WHOLE}
    for index, step in enumerate(steps):
        known |= {f"f{index}": step.function, f"t{index}": step.result}
        arguments = ", ".join([held.get(slot, f"slots[{slot}]") for slot in step.arguments])
        lines += [
            f"r{index} = f{index}({arguments})",
            f"if type(r{index}) is not t{index}: return r{index}",
            f"slots[{step.slot}] = r{index}",
            "note(now_ns())",
        ]
    call_all: CallAll = _define("slots, note, now_ns", [*lines, "return WHOLE"], known)
    return call_all


def unroll_reports(steps: Sequence[Step]) -> Callable[[int, list[int]], tuple[TaskReport, ...]]:
    """Return a function that makes the reports, in the order of the graph, of steps that ended at such times."""
    known: dict[str, Any] = {"TaskReport": TaskReport}
    reports: dict[int, str] = {}
    for place, step in enumerate(steps):
        known[f"n{place}"] = step.name
        times = f"u{place - 1}, u{place} - u{place - 1}" if place else "0, u0"
        reports[step.index] = f"TaskReport(n{place}, 'done', 1, {times}),"
    ends = "".join([f"e{place}, " for place in range(len(steps))])
    over_us = [f"u{place} = (e{place} - origin_ns) // {NS_PER_US}" for place in range(len(steps))]
    in_order = " ".join([reports[index] for index in sorted(reports)])
    lines = [f"{ends}= ends_ns", *over_us, f"return ({in_order})"]
    report: Callable[[int, list[int]], tuple[TaskReport, ...]] = _define("origin_ns, ends_ns", lines, known)
    return report


def unroll_cells(cells: Sequence[tuple[int, str, str, str, str]]) -> Callable[[Slots], tuple[Cell, ...]]:
    """Return a function that makes the cells of a whole Run from (slot, field, task, operator, revision) of each."""
    known: dict[str, Any] = {"Cell": Cell}
    calls: list[str] = []
    for index, (slot, field, task, operator, revision) in enumerate(cells):
        known |= {f"a{index}": field, f"b{index}": task, f"c{index}": operator, f"d{index}": revision}
        calls.append(f"Cell(a{index}, slots[{slot}], b{index}, c{index}, d{index}),")
    make_cells: Callable[[Slots], tuple[Cell, ...]] = _define("slots", [f"return ({' '.join(calls)})"], known)
    return make_cells


def _define(parameters: str, lines: Sequence[str], known: Mapping[str, Any]) -> Any:
    names = dict(known)
    exec("\n    ".join([f"def written_out({parameters}):", *lines]), names)
    return names["written_out"]
