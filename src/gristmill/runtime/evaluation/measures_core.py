"""Precision, recall and F1 of one label, over thresholds, and what differs between two sets of predictions. Pure."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

__all__ = ["Difference", "Measure", "Sweep", "compare", "measure", "sweep"]

THRESHOLDS = tuple(step / 20 for step in range(1, 20))
"""0.05 to 0.95; finer steps differ by single texts on any file that a person can label."""


class Measure(msgspec.Struct, frozen=True):
    """Counts of one label at one threshold. An empty denominator gives 0."""

    true_positives: int
    false_positives: int
    false_negatives: int
    true_negatives: int

    @property
    def precision(self) -> float:
        return _ratio(self.true_positives, self.true_positives + self.false_positives)

    @property
    def recall(self) -> float:
        return _ratio(self.true_positives, self.true_positives + self.false_negatives)

    @property
    def f1(self) -> float:
        return _ratio(2 * self.true_positives, 2 * self.true_positives + self.false_positives + self.false_negatives)


class Sweep(msgspec.Struct, frozen=True):
    """A threshold: scores at least this high count as the label."""

    threshold: float
    measure: Measure


class Difference(msgspec.Struct, frozen=True):
    """What two sets of predictions say differently, by id.

    Attributes:
        better, worse: the first is right where the other is wrong, and the reverse.
    """

    agree: int
    better: tuple[str, ...]
    worse: tuple[str, ...]


def measure(truth: Mapping[str, bool], given: Mapping[str, bool]) -> Measure:
    """Count one label; an id without a prediction counts as not given."""
    counts = {(expected, found): 0 for expected in (True, False) for found in (True, False)}
    for key, expected in truth.items():
        counts[expected, given.get(key, False)] += 1
    return Measure(counts[True, True], counts[False, True], counts[True, False], counts[False, False])


def sweep(truth: Mapping[str, bool], scores: Mapping[str, float]) -> list[Sweep]:
    """Return the measure at every threshold."""
    return [
        Sweep(threshold, measure(truth, {key: score >= threshold for key, score in scores.items()}))
        for threshold in THRESHOLDS
    ]


def compare(truth: Mapping[str, bool], first: Mapping[str, bool], other: Mapping[str, bool]) -> Difference:
    """Return where two sets of predictions differ."""
    better: list[str] = []
    worse: list[str] = []
    for key, expected in truth.items():
        ours, theirs = first.get(key, False), other.get(key, False)
        if ours != theirs:
            (better if ours == expected else worse).append(key)
    return Difference(len(truth) - len(better) - len(worse), tuple(better), tuple(worse))


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
