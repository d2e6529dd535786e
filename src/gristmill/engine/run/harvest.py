"""Gathers from the results of a Run what its commit takes over, with the task as the cause."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from gristmill.domain.commit import Contributed
from gristmill.domain.item import AppliedLabel, Cell
from gristmill.domain.run import Effect
from gristmill.engine.run.steps import Slots, Step
from gristmill.engine.run.unrolled import unroll_cells
from gristmill.plans.plan import Writes

__all__ = ["Harvester"]


class Harvester:
    """Knows which steps of a plan give cells, labels, contributions and effects, so that others cost nothing."""

    def __init__(self, steps: Sequence[Step], *, writes: Writes) -> None:
        self._mode = "on" if writes == "on" else "shadow"
        self._cells: list[tuple[int, str, str, str, str]] = []
        self._findings: list[Step] = []
        for step in steps:
            mark, operator = step.operator.mark, step.operator
            if mark is None:
                continue
            if mark.kept == "cell":
                self._cells.append((step.slot, mark.field, step.name, operator.name, operator.options.revision))
            if mark.has_labels or mark.has_contributions or mark.has_effects:
                self._findings.append(step)
        self.cells_of_whole = unroll_cells(self._cells)
        """Returns the cells of a Run in which every task gave its result."""

    def cells(self, slots: Slots) -> tuple[Cell, ...]:
        """Return a Cell for each result that is marked so."""
        return tuple(
            [
                Cell(field, value, task, operator, revision)
                for slot, field, task, operator, revision in self._cells
                if (value := slots[slot]) is not None
            ]
        )

    def findings(self, slots: Slots) -> tuple[tuple[AppliedLabel, ...], tuple[Contributed, ...], tuple[Effect, ...]]:
        """Return labels, contributions and effects of all results."""
        if not self._findings:
            return (), (), ()
        labels: list[AppliedLabel] = []
        contributions: list[Contributed] = []
        effects: list[Effect] = []
        for step in self._findings:
            result, mark = slots[step.slot], step.operator.mark
            if result is None or mark is None:
                continue
            if mark.has_labels:
                labels += _apply_labels(step, result)
            if mark.has_contributions:
                contributions += _attribute(step, result)
            if mark.has_effects:
                effects += [
                    msgspec.structs.replace(effect, task=step.name, mode=self._mode) for effect in result.effects
                ]
        return tuple(labels), tuple(contributions), tuple(effects)


def _apply_labels(step: Step, result: Any) -> list[AppliedLabel]:
    operator, revision = step.operator.name, step.operator.options.revision
    return [
        AppliedLabel(
            label.val, label.score, label.reason, label.evidence, step.name, operator, label.revision or revision
        )
        for label in result.labels
    ]


def _attribute(step: Step, result: Any) -> list[Contributed]:
    operator, revision = step.operator.name, step.operator.options.revision
    return [Contributed(contribution, step.name, operator, revision) for contribution in result.contributions]
