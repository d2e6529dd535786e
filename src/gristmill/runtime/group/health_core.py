"""Decides what serves and what does not, from what the main process knows of its group. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from gristmill.domain.front.health import ServiceHealth

__all__ = ["ChildState", "Vitals", "decide_health"]


class ChildState(msgspec.Struct, frozen=True):
    """A child as main sees it; `problem` says why it cannot work, empty if it can."""

    name: str
    role: str
    problem: str = ""


class Vitals(msgspec.Struct, frozen=True):
    """What a service says of itself; all but `in_flight` is a dispatcher's.

    Attributes:
        in_flight: records that a dispatcher has with engines, or that an engine has.
        result_age_ms: since the last result, or since nothing was under way for the last time.
        generators_up: generator type -> whether its claims succeed.
    """

    in_flight: int = 0
    result_age_ms: int = 0
    generators_up: Mapping[str, bool] = {}


def decide_health(
    children: Sequence[ChildState],
    dispatcher: Vitals | None,
    *,
    flows: Mapping[str, Sequence[str]],
    task_timeout_ms: int,
    is_stopping: bool,
) -> list[ServiceHealth]:
    """Return the health of `""`, `dispatcher`, `engine` and each flow, in this order.

    Args:
        dispatcher: None when it does not answer, which is a reason of its own.
        flows: flow name -> types of its generators in this group.
        task_timeout_ms: with records under way and no result for longer than this, engines do not work.
    """
    problems = {
        role: [f"{child.name} {child.problem}" for child in children if child.role == role and child.problem]
        for role in ("dispatcher", "engine")
    }
    up: Mapping[str, bool] = {}
    if dispatcher is not None:
        up = dispatcher.generators_up
        if not any(up.values()):
            problems["dispatcher"].append("no generator is up")
        if dispatcher.in_flight > 0 and dispatcher.result_age_ms > task_timeout_ms:
            age_s = dispatcher.result_age_ms // 1000
            problems["engine"].append(f"{dispatcher.in_flight} records are under way, but no result came for {age_s} s")
    elif not problems["dispatcher"]:
        problems["dispatcher"].append("dispatcher does not answer")
    flow_reasons = {
        flow: [f"generator {kind} is down" for kind in kinds if not up.get(kind, False)]
        for flow, kinds in flows.items()
    }
    whole = [*(["the group is stopping"] if is_stopping else []), *problems["dispatcher"], *problems["engine"]]
    return [
        ServiceHealth("", tuple(whole)),
        ServiceHealth("dispatcher", tuple(problems["dispatcher"])),
        ServiceHealth("engine", tuple(problems["engine"])),
        *(ServiceHealth(flow, tuple([*reasons, *problems["engine"]])) for flow, reasons in flow_reasons.items()),
    ]
