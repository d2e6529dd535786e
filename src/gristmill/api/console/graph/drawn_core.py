"""What a drawing of a run shows: the tasks of its plan with what became of them, and the edges between them.

The graph of a plan is that of the version loaded now. A run of another version is drawn without edges, its tasks in
the order in which they are on record: a guess at edges that are gone would be worse than none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from gristmill.domain.commit import StoredRun
from gristmill.domain.run import TaskReport, TaskStatus
from gristmill.plans.graph import Graph

__all__ = ["Arrow", "DrawnTask", "DrawnPlan", "Shown", "compose_drawn_plan", "compose_drawn_run"]

Shown = TaskStatus | Literal["planned"]
"""`planned`: a task of a plan that is shown without a run."""

ArrowKind = Literal["requires", "prefers", "after", "after_any"]


class DrawnTask(msgspec.Struct, frozen=True):
    """A task as it is drawn.

    Attributes:
        operator: empty where the plan's version is not loaded.
        started_after_us, duration_us: see `TaskReport`.
    """

    name: str
    status: Shown
    operator: str = ""
    revision: str = ""
    attempts: int = 0
    started_after_us: int = 0
    duration_us: int = 0
    reason: str = ""


class Arrow(msgspec.Struct, frozen=True):
    """An edge by the indexes of its tasks: data, data that may be missing, or order alone."""

    source: int
    target: int
    kind: ArrowKind

    @property
    def is_optional(self) -> bool:
        """Whether the target also runs without what the source gives."""
        return self.kind in ("prefers", "after_any")


class DrawnPlan(msgspec.Struct, frozen=True):
    """A plan as it is drawn; `has_edges` is False where the graph of its version is not known."""

    plan: str
    version: int
    tasks: tuple[DrawnTask, ...]
    arrows: tuple[Arrow, ...]
    has_edges: bool = True


def compose_drawn_run(run: StoredRun, graph: Graph | None) -> DrawnPlan:
    """Return the drawn of a run, over the graph of its plan where that is the one it ran on."""
    reports = {report.task: report for report in run.tasks}
    is_same = graph is not None and graph.version == run.plan_version
    if graph is None or not is_same or {node.name for node in graph.nodes} != reports.keys():
        tasks = tuple(_draw(report) for report in run.tasks)
        return DrawnPlan(run.plan, run.plan_version, tasks, (), has_edges=False)
    tasks = tuple(
        _draw(reports[node.name], operator=node.operator.name, revision=node.operator.options.revision)
        for node in graph.nodes
    )
    return DrawnPlan(run.plan, run.plan_version, tasks, _find_arrows(graph))


def compose_drawn_plan(graph: Graph) -> DrawnPlan:
    """Return the drawn of a plan without a run."""
    tasks = tuple(
        DrawnTask(node.name, "planned", node.operator.name, node.operator.options.revision) for node in graph.nodes
    )
    return DrawnPlan(graph.key, graph.version, tasks, _find_arrows(graph))


def _draw(report: TaskReport, *, operator: str = "", revision: str = "") -> DrawnTask:
    return DrawnTask(
        name=report.task,
        status=report.status,
        operator=operator,
        revision=revision,
        attempts=report.attempts,
        started_after_us=report.started_after_us,
        duration_us=report.duration_us,
        reason=report.reason,
    )


def _find_arrows(graph: Graph) -> tuple[Arrow, ...]:
    """Return one arrow for each pair of tasks; what binds most says what it is."""
    arrows: dict[tuple[int, int], Arrow] = {}
    for node in graph.nodes:
        kinds: Sequence[tuple[ArrowKind, tuple[int, ...]]] = (
            ("requires", node.requires),
            ("after", node.after),
            ("prefers", node.prefers),
            ("after_any", node.after_any),
        )
        for kind, sources in kinds:
            for source in sources:
                arrows.setdefault((source, node.index), Arrow(source, node.index, kind))
    return tuple(arrows.values())
