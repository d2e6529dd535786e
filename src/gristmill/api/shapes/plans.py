"""Plans and generators as the API shows them."""

from __future__ import annotations

import msgspec

from gristmill.domain.front.waiting import WaitReason
from gristmill.plans.plan import Writes

__all__ = ["GeneratorView", "GeneratorsView", "PlanTaskView", "PlanView", "PlansView"]


class PlanTaskView(msgspec.Struct, frozen=True):
    """A task of a plan. `requires` and `prefers` are data it takes, `after` and `after_any` what it waits for."""

    name: str
    operator: str
    revision: str
    requires: tuple[str, ...]
    prefers: tuple[str, ...]
    after: tuple[str, ...]
    after_any: tuple[str, ...]


class PlanView(msgspec.Struct, frozen=True):
    """A plan with its tasks in a topological order."""

    key: str
    version: int
    flow: str
    writes: Writes
    generators: tuple[str, ...]
    tasks: tuple[PlanTaskView, ...]


class PlansView(msgspec.Struct, frozen=True):
    """All plans that this group can run."""

    plans: list[PlanView]


class GeneratorView(msgspec.Struct, frozen=True):
    """What feeds runs, and how far it is behind: records not delivered yet, under way, set aside, given up; and why.

    `lost` were deleted before it was done with them; `ordered_weight` is the share given to it instead of `weight`.
    """

    type: str
    topic: str
    source: str
    kind: str
    plans: tuple[str, ...]
    weight: float
    max_qps: float | None
    undelivered: int
    in_flight: int
    waiting: int
    dead: int
    oldest_age_ms: int
    waits: tuple[WaitReason, ...]
    lost: int
    paused: bool
    pause_reason: str
    ordered_weight: float | None


class GeneratorsView(msgspec.Struct, frozen=True):
    """All generators of this group."""

    generators: list[GeneratorView]
