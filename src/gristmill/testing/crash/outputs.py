"""What two runs over the same input must agree on: ids, labels per id, groups of duplicates."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

__all__ = ["Findings", "compute_differences", "read_findings"]

GROUP_LABELS = ("duplicate", "near-duplicate")
SHOWN_DIFFERENCES_MAX = 10


class Findings(msgspec.Struct, frozen=True):
    """The part of an output file that must not depend on crashes; item ids may.

    Attributes:
        lines: input ids in the order of the file.
        status: input id -> status.
        labels: input id -> sorted (val, score, reason) of its labels.
        groups: label -> set of groups, each a set of input ids.
    """

    lines: tuple[str, ...]
    status: Mapping[str, str]
    labels: Mapping[str, tuple[tuple[str, float, str], ...]]
    groups: Mapping[str, frozenset[frozenset[str]]]


class _Line(msgspec.Struct):
    id: str
    status: str
    labels: list[dict[str, Any]]


def read_findings(path: Path) -> Findings:
    """Read an output file of `gristmill run`."""
    decode = msgspec.json.Decoder(_Line).decode
    lines = [decode(line) for line in path.read_bytes().splitlines()]
    members: dict[str, dict[str, set[str]]] = {label: {} for label in GROUP_LABELS}
    for line in lines:
        for label in line.labels:
            if label["val"] in members and label["evidence"]:
                leader = label["evidence"][0]
                members[label["val"]].setdefault(leader, {leader}).add(line.id)
    return Findings(
        lines=tuple(line.id for line in lines),
        status={line.id: line.status for line in lines},
        labels={
            line.id: tuple(sorted((label["val"], label["score"], label["reason"]) for label in line.labels))
            for line in lines
        },
        groups={label: frozenset(map(frozenset, groups.values())) for label, groups in members.items()},
    )


def compute_differences(expected: Findings, found: Findings) -> list[str]:
    """Return what differs, in words, at most ten entries; empty when the runs agree."""
    differences: list[str] = []
    if expected.lines != found.lines:
        lost = sorted(set(expected.lines) - set(found.lines))
        extra = len(found.lines) - len(set(found.lines))
        differences.append(
            f"lines: {len(found.lines)} instead of {len(expected.lines)}, lost {lost[:3]}, doubled {extra}"
        )
    for key in sorted(expected.status.keys() & found.status.keys()):
        if expected.status[key] != found.status[key]:
            differences.append(f"{key}: status {found.status[key]} instead of {expected.status[key]}")
        if expected.labels[key] != found.labels[key]:
            differences.append(f"{key}: labels {found.labels[key]} instead of {expected.labels[key]}")
    for label in GROUP_LABELS:
        odd = expected.groups[label] ^ found.groups[label]
        if odd:
            differences.append(f"{label}: {len(odd)} groups differ, first {sorted(map(sorted, odd))[:1]}")
    return differences[:SHOWN_DIFFERENCES_MAX]
